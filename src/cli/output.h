// The standard output.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "train/failure.h"

namespace primal::cli {

/// Hands what was printed to the system. Output that could not be written must not pass for success: throws Failure.
inline void flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw train::Failure(std::string("standard output could not be written: ") + std::strerror(errno));
}

/// The text and spaces up to `width` characters of a terminal; characters of UTF-8 count once.
inline std::string padded(std::string text, size_t width) {
  const auto inside = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; };
  const auto characters = text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), inside));
  if (characters < width) text.append(width - characters, ' ');
  return text;
}

}  // namespace primal::cli
