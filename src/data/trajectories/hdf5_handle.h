// Objects of the HDF5 library that close themselves, and what its error stack says.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

namespace primal::data {

/// Negative numbers are the library's way of saying that a call failed.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }

  hid_t get() const { return id_; }
  bool is_open() const { return id_ >= 0; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// The library prints its errors unless it is told not to, in each thread: call it before anything else.
void silence_hdf5();

/// What the library says of its call that has just failed, in quotes: the innermost of its reasons.
std::string hdf5_reason();

}  // namespace primal::data
