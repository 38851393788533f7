// chakra/options.h, facade/fields.cpp and the verbs of the package for Python are made from the rows of the calls'
// options: a struct or a function for each verb, a member or an argument and its comment for each row. The test writes
// them where CHAKRA_WRITE_OPTIONS is set.
#pragma once

#include <string>

namespace chakra::facade::testing {

std::string options_header();  ///< chakra/options.h
std::string fields_header();   ///< chakra/facade/fields.h
std::string fields_source();   ///< chakra/facade/fields.cpp
std::string python_source();   ///< python/chakra_et/_verbs.py

}  // namespace chakra::facade::testing
