// PRIMAL_API marks what libprimal.so shows; everything else in it is hidden.
#pragma once

#define PRIMAL_API __attribute__((visibility("default")))
