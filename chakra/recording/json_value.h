// The names that this room uses from the room json.
#pragma once

#include "chakra/json/json.h"

namespace chakra::recording {

using json::append_python_repr;
using json::decoded;
using json::for_each_element;
using json::is_sound;
using json::json_error;
using json::JsonStream;
using json::JsonValue;
using json::open_field;
using json::parse_micros;
using json::Salvage;
using json::to_integer;
using json::token;

}  // namespace chakra::recording
