#include "ops/fused/tile_space.h"

#include <hwy/aligned_allocator.h>

#include <algorithm>

namespace primal::ops::fused {

namespace {

struct Piece {
  hwy::AlignedFreeUniquePtr<float[]> data;
  size_t size = 0;
};

// The pieces of this thread, in the order in which they are taken; the first `used` are in use.
struct Stack {
  std::vector<Piece> pieces;
  size_t used = 0;
};

Stack& stack() {
  thread_local Stack of_thread;
  return of_thread;
}

}  // namespace

TileSpace::TileSpace() : used_before_(stack().used) {}

TileSpace::~TileSpace() { stack().used = used_before_; }

float* TileSpace::take(int64_t tokens, int64_t width) {
  Stack& own = stack();
  if (own.used == own.pieces.size()) own.pieces.emplace_back();
  Piece& piece = own.pieces[own.used++];
  const auto size = static_cast<size_t>(std::max<int64_t>(1, tokens * width));
  if (piece.size < size) {
    piece.data.reset();  // before, not beside the larger one
    piece.data = hwy::AllocateAligned<float>(size);
    piece.size = size;
  }
  return piece.data.get();
}

}  // namespace primal::ops::fused
