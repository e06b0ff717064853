// bfloat16 autocast around a forward pass.
#pragma once

#include <string>

namespace primal::train {

class Autocast {
 public:
  /// "float32", "bfloat16", or "auto": bfloat16 where the CPU computes with it, float32 elsewhere.
  explicit Autocast(const std::string& precision);

  bool enabled() const { return enabled_; }

  /// Calls the function with the chosen precision. The backward pass follows the types of the forward pass.
  template <class Function>
  auto run(Function&& function) const {
    const Scope scope(enabled_);
    return function();
  }

 private:
  class Scope {
   public:
    explicit Scope(bool enable);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    bool enabled_;
    bool before_;
  };

  bool enabled_;
};

}  // namespace primal::train
