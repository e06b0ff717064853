// bfloat16 autocast around a forward pass.
#pragma once

namespace primal::train {

enum class Precision {
  float32,
  bfloat16,   ///< autocast
  automatic,  ///< bfloat16 where the CPU computes with it, float32 elsewhere
};

class Autocast {
 public:
  explicit Autocast(Precision precision);

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
