#include "data/images/grey_png.h"

#include "base/mapped_file.h"
#include "base/text.h"

#ifdef PRIMAL_HAVE_PNG
#include <png.h>

#include <cstdio>
#include <cstring>
#endif

namespace primal::data {

GreyPicture read_grey_png(const std::filesystem::path& path) {
  require_png_support(path.string());
  const base::MappedFile file(path, "a PNG file");
  return decode_grey_png(file.bytes(), path.string());
}

#ifndef PRIMAL_HAVE_PNG

void require_png_support(std::string_view name) {
  base::fail(name, "this build has no PNG support; install the Debian package libpng-dev and build again");
}

GreyPicture decode_grey_png(std::span<const std::byte>, std::string_view name) {
  require_png_support(name);
  return {};
}

std::string encode_grey_png(int64_t, int64_t, std::span<const uint8_t>) {
  require_png_support("PNG");
  return {};
}

#else

namespace {

/// What libpng reads, and what went wrong. Without destructors, since libpng jumps out of its functions.
struct PngSource {
  const std::byte* next;
  std::size_t left;
  char message[160];
};

// libpng wants this to not return, so it jumps to the setjmp() of the function that called libpng.
[[noreturn]] void leave_libpng(png_structp png, png_const_charp message) {
  auto* source = static_cast<PngSource*>(png_get_error_ptr(png));
  std::snprintf(source->message, sizeof source->message, "%s", message);
  png_longjmp(png, 1);
}

void ignore_png_warning(png_structp, png_const_charp) {}

void read_png_bytes(png_structp png, png_bytep into, std::size_t count) {
  auto* source = static_cast<PngSource*>(png_get_io_ptr(png));
  if (count > source->left) png_error(png, "the file ends early");
  std::memcpy(into, source->next, count);
  source->next += count;
  source->left -= count;
}

// The two functions that libpng may jump out of, back to their setjmp(). They have no local objects at all, and all
// that they use belongs to the caller.

bool read_png_head(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_info(png, info);
  return true;
}

bool read_png_rows(png_structp png, png_infop info, uint8_t* pixels, png_uint_32 width, png_uint_32 height) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  for (int pass = png_set_interlace_handling(png); pass > 0; --pass) {
    for (png_uint_32 y = 0; y < height; ++y) png_read_row(png, pixels + std::size_t{y} * width, nullptr);
  }
  png_read_end(png, info);
  return true;
}

/// libpng's two objects for reading a file.
class PngReader {
 public:
  explicit PngReader(PngSource& source)
      : png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, leave_libpng, ignore_png_warning)),
        info_(png_ != nullptr ? png_create_info_struct(png_) : nullptr) {
    if (info_ == nullptr) return;
    png_set_user_limits(png_, kMostPngSide, kMostPngSide);
    // Texts, profiles and the like are passed over: libpng would take as much memory for one as its length claims.
    constexpr int kAllThatAreNotNeeded = -1;
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, kAllThatAreNotNeeded);
    png_set_read_fn(png_, &source, read_png_bytes);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  bool is_made() const { return info_ != nullptr; }
  png_structp png() const { return png_; }
  png_infop info() const { return info_; }

 private:
  png_structp png_;
  png_infop info_;
};

}  // namespace

void require_png_support(std::string_view) {}

GreyPicture decode_grey_png(std::span<const std::byte> file, std::string_view name) {
  PngSource source{file.data(), file.size(), {}};
  const PngReader reader(source);
  if (!reader.is_made()) base::fail(name, "libpng cannot read: not enough memory");
  const auto fail_damaged = [&] { base::fail(name, "not a sound PNG file: ", base::in_quotes(source.message)); };
  if (!read_png_head(reader.png(), reader.info())) fail_damaged();
  const int depth = png_get_bit_depth(reader.png(), reader.info());
  const bool is_grey = png_get_color_type(reader.png(), reader.info()) == PNG_COLOR_TYPE_GRAY;
  const bool is_transparent = png_get_valid(reader.png(), reader.info(), PNG_INFO_tRNS) != 0;
  if (!is_grey || depth != 8 || is_transparent) {
    base::fail(name, "expected 8-bit grey pixels, got ", depth, "-bit ", is_grey ? "grey" : "colour",
               is_transparent ? " with transparency" : "");
  }
  const png_uint_32 width = png_get_image_width(reader.png(), reader.info());
  const png_uint_32 height = png_get_image_height(reader.png(), reader.info());
  GreyPicture picture{width, height, std::vector<uint8_t>(std::size_t{width} * height)};
  if (!read_png_rows(reader.png(), reader.info(), picture.pixels.data(), width, height)) fail_damaged();
  return picture;
}

std::string encode_grey_png(int64_t width, int64_t height, std::span<const uint8_t> pixels) {
  if (width < 1 || height < 1 || width > kMostPngSide || height > kMostPngSide ||
      std::ssize(pixels) != width * height) {
    base::fail("PNG", "cannot write ", pixels.size(), " pixels as ", width, " x ", height);
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_GRAY;
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = file.size();
  if (png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr) == 0) {
    base::fail("PNG", "cannot write: ", base::in_quotes(image.message));
  }
  file.resize(size);
  return file;
}

#endif

}  // namespace primal::data
