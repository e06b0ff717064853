// The values of settings, from text and TOML into their fields and back. For settings.cpp.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "base/setting_fields.h"

namespace primal::base {

/// "a whole number"
std::string kind_name(const SettingField& field);

/// False if the text, or the node, is not of the field's kind.
bool put_text(std::string_view text, const SettingField& field);
bool put_toml(const toml::node& node, const SettingField& field);

/// As a file has it.
std::string as_toml(const SettingField& field);

}  // namespace primal::base
