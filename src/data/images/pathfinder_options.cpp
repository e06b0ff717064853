#include "data/images/pathfinder_options.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text.h"

namespace primal::data {
namespace {

/// At least and at most, with both in the message.
template <typename Number>
void check_pathfinder_range(std::string_view name, Number value, Number least, Number most) {
  if (value >= least && value <= most) return;
  base::fail("pathfinder", name, " ", value, " is not between ", least, " and ", most);
}

/// Farthest that a dash and its margin reach from the pixel where it begins.
int64_t reach_of_dash(const PathfinderOptions& options, int64_t margin) {
  return options.dash_length + static_cast<int64_t>(std::ceil(options.thickness)) + margin;
}

void check_pathfinder_dash(const PathfinderOptions& options) {
  check_pathfinder_range<int64_t>("dash length", options.dash_length, 1, 32);
  check_pathfinder_range("thickness", options.thickness, 0.0, 16.0);
  check_pathfinder_range<int64_t>("fine pixels per pixel", options.fine, 1, 8);
  const double width = options.thickness * static_cast<double>(options.fine);
  if (width < 1 || width != std::floor(width)) {
    base::fail("pathfinder", "thickness ", options.thickness, " x ", options.fine,
               " fine pixels per pixel is not a whole number of fine pixels");
  }
  if (options.margins.empty()) base::fail("pathfinder", "expected at least one margin, got none");
  for (const int64_t margin : options.margins) check_pathfinder_range<int64_t>("margin", margin, 1, 16);
}

void check_pathfinder_room(const PathfinderOptions& options) {
  check_pathfinder_range<int64_t>("size", options.size, 16, 1024);
  check_pathfinder_range<int64_t>("padding", options.padding, 0, options.size / 2 - 1);
  const int64_t reach = reach_of_dash(options, *std::ranges::max_element(options.margins));
  if (2 * reach >= options.size) {
    base::fail("pathfinder", "a dash with its margin reaches ", reach, " pixels, too far for a size of ", options.size);
  }
  check_pathfinder_range<int64_t>("seed distance", options.seed_distance, 1, options.size);
  if (4 * options.seed_distance >= options.size) {
    base::fail("pathfinder", "seed distance ", options.seed_distance, " leaves no room in a size of ", options.size,
               ", expected less than a quarter");
  }
  check_pathfinder_range("marker radius", options.marker_radius, 0.5, static_cast<double>(options.size) / 4);
}

}  // namespace

void check(const PathfinderOptions& options) {
  check_pathfinder_dash(options);
  check_pathfinder_room(options);
  check_pathfinder_range<int64_t>("contour length", options.contour_length, 1, 1000);
  check_pathfinder_range<int64_t>("distractor length", options.distractor_length, 1, 1000);
  check_pathfinder_range<int64_t>("number of distractors", options.distractors, 0, 10'000);
  check_pathfinder_range("continuity", options.continuity, 0.0, 100.0);
  check_pathfinder_range("target contrast", options.target_contrast, 0.01, 100.0);
  check_pathfinder_range("distractor contrast", options.distractor_contrast, 0.01, 100.0);
  check_pathfinder_range<int64_t>("dash retries", options.dash_retries, 0, 1000);
  check_pathfinder_range<int64_t>("distractor retries", options.distractor_retries, 0, 1000);
}

PathfinderOptions published_pathfinder(int64_t size, int64_t contour_length) {
  PathfinderOptions options{.size = size, .contour_length = contour_length};
  int64_t distractor_dashes = 20;  // of all distractors together
  if (size != 32) {
    options.dash_length = 5;
    options.continuity = 1.8;
  }
  if (size == 64) {
    distractor_dashes = 22;
    options.thickness = 1;
    options.marker_radius = 2.5;
    options.seed_distance = 12;
    options.target_contrast = options.distractor_contrast = 0.8;
  } else if (size == 128) {
    distractor_dashes = 35;
    options.thickness = 1.5;
    options.margins = {2, 3};
    options.marker_radius = 3;
    options.seed_distance = 20;
    options.target_contrast = options.distractor_contrast = 0.9;
  } else if (size == 256) {
    distractor_dashes = 30;
    options.padding = 22;
    options.thickness = 2;
    options.margins = {3};
    options.marker_radius = 5;
    options.seed_distance = 27;
    options.target_contrast = options.distractor_contrast = 1;
  } else if (size != 32) {
    base::fail("pathfinder", "no published parameters for size ", size, ", expected 32, 64, 128 or 256");
  }
  options.distractor_length = std::max<int64_t>(contour_length / 3, 1);
  options.distractors = distractor_dashes / options.distractor_length;
  check(options);
  return options;
}

std::string to_text(const PathfinderOptions& options) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  std::string margins;
  for (const int64_t margin : options.margins) margins += (margins.empty() ? "" : ",") + std::to_string(margin);
  text << "size = " << options.size << "\npadding = " << options.padding << "\ndash_length = " << options.dash_length
       << "\nthickness = " << options.thickness << "\nmargins = " << margins
       << "\nmarker_radius = " << options.marker_radius << "\ncontour_length = " << options.contour_length
       << "\nfine = " << options.fine << "\nseed_distance = " << options.seed_distance
       << "\ncontinuity = " << options.continuity << "\ndistractor_length = " << options.distractor_length
       << "\ndistractors = " << options.distractors << "\ntarget_contrast = " << options.target_contrast
       << "\ndistractor_contrast = " << options.distractor_contrast << "\ndash_retries = " << options.dash_retries
       << "\ndistractor_retries = " << options.distractor_retries
       << "\nsingle_dashes = " << (options.single_dashes ? "true" : "false")
       << "\nborder_rule = " << base::name_in(kBorderRules, options.border_rule) << "\n";
  return text.str();
}

}  // namespace primal::data
