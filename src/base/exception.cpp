#include "base/exception.h"

#include <primal/error.h>

#include <new>
#include <string_view>
#include <system_error>

namespace primal::base {

namespace {

constexpr std::string_view kWanted = "you tried to allocate ";  // LibTorch; its type says nothing

// Ours have no stack trace, and a name in them may have the end of a line.
std::string message_of(const std::exception& error) {
  const std::string_view message = error.what();
  if (dynamic_cast<const Error*>(&error) != nullptr) return std::string(message);
  return std::string(message.substr(0, message.find('\n')));
}

}  // namespace

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  if (const auto* of_system = dynamic_cast<const std::system_error*>(&error)) {
    const std::error_code code = of_system->code();
    return code == std::errc::not_enough_memory || code == std::errc::resource_unavailable_try_again;
  }
  const std::string message = message_of(error);
  for (const std::string_view sign :
       {kWanted, std::string_view("not enough memory"), std::string_view("Cannot allocate memory")}) {
    if (message.find(sign) != message.npos) return true;
  }
  return false;
}

std::string in_one_line(const std::exception& error) {
  const std::string message = message_of(error);
  if (!is_out_of_memory(error)) return message;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "not enough memory";
  if (message.find("not enough memory") != message.npos) return message;
  const size_t bytes = message.find(kWanted);
  return "not enough memory: " + (bytes == message.npos ? message : message.substr(bytes));
}

}  // namespace primal::base
