// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "data/jinja/nodes.hpp"

namespace lockstep::data::jinja {

// Reads a template. Throws a data error "NAME:LINE: what" where it is wrong or has a part that
// chat templates do not have.
Block parse_template(std::string_view source, const std::string& name);

}  // namespace lockstep::data::jinja
