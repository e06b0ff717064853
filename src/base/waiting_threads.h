// How long threads that wait for work spin before they sleep.
#pragma once

namespace primal::base {

/// Makes the OpenMP threads of this program sleep soon when they have nothing to do. By default they spin for
/// milliseconds: beside other busy processes that takes the cores from those that compute, and a training of small
/// steps becomes several times slower. OpenMP reads the setting (GOMP_SPINCOUNT) when it is loaded, before main(): so
/// the program starts itself anew with it, once, unless the environment says how threads wait. Call it first thing in
/// main(). Where that is not possible nothing happens.
void limit_spinning(char** argv);

}  // namespace primal::base
