// What Pathfinder pictures are made of: sizes in pixels, lengths of snakes in dashes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/names.h"

namespace primal::data {

/// Where a snake may begin. The published generator tries a dash at every pixel at once, by a dilation of what is
/// taken. At the border the shape of the dash may lie outside of the picture altogether, and the dilation has no value
/// there. "strict": such a direction is given up and the attempt with it, as published; for the thin dashes of 32 x 32
/// pixels that leaves 30 of 360 directions. "relaxed": what is outside of the picture is free; snakes begin in every
/// direction, a few of them at the border, and most distractors find a place.
enum class BorderRule { strict, relaxed };

inline constexpr base::Names<BorderRule, 2> kBorderRules = {
    {{"strict", BorderRule::strict}, {"relaxed", BorderRule::relaxed}}};

/// The defaults are those of the Long Range Arena's Pathfinder: 32 x 32 pixels, the hard set.
struct PathfinderOptions {
  int64_t size = 32;                   ///< of the square picture
  int64_t padding = 1;                 ///< pixels at the border that snakes stay away from
  int64_t dash_length = 2;             ///< of the line, without the margin around it
  double thickness = 0.5;              ///< of the line; a whole number of fine pixels
  std::vector<int64_t> margins = {1};  ///< room around a dash; a picture takes one of them
  double marker_radius = 1.5;          ///< of the two discs at the ends
  int64_t contour_length = 14;         ///< dashes of each of the two snakes in question
  int64_t fine = 2;                    ///< fine pixels per pixel, for smooth lines
  int64_t seed_distance = 7;           ///< between the beginnings of the two snakes
  double continuity = 1.0;             ///< how little a snake turns
  int64_t distractor_length = 4;       ///< dashes of each of the other snakes
  int64_t distractors = 5;             ///< other snakes that are tried; some find no place
  double target_contrast = 0.75 * 2;   ///< of the two snakes: the published paddle contrast x snake contrast
  double distractor_contrast = 2;      ///< the published snake contrast alone, so that distractors are brighter
  int64_t dash_retries = 2;            ///< after the first try of a dash, or of a beginning
  int64_t distractor_retries = 4;      ///< after the first try of a distractor
  bool single_dashes = false;          ///< fill the rest with dashes that belong to nothing
  BorderRule border_rule = BorderRule::strict;
};

/// The published parameters of a size (32, 64, 128 or 256) and a contour length: 6 is easy, 9 intermediate, 14 hard.
/// Path-X is (128, 14).
PathfinderOptions published_pathfinder(int64_t size, int64_t contour_length = 14);

/// Throws primal::Error, "pathfinder: ...", for options that no picture can have.
void check(const PathfinderOptions& options);

/// One "name = value" per line.
std::string to_text(const PathfinderOptions& options);

}  // namespace primal::data
