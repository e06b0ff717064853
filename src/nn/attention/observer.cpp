#include "nn/attention/observer.h"

#include <utility>

namespace primal::nn {

namespace {

thread_local AttentionObserver* observer = nullptr;

}  // namespace

AttentionObserver::AttentionObserver() : before_(std::exchange(observer, this)) {}

AttentionObserver::~AttentionObserver() { observer = before_; }

AttentionObserver* AttentionObserver::current() { return observer; }

}  // namespace primal::nn
