# chakra_page(OUTPUT STYLE SCRIPT...): writes a C++ file with the fixed parts of a page: kBeforeData, which ends where the data begin,
# and kAfterData. The content security policy allows the style and the script by their hashes, so the page needs no other permission.

# In base 64: 22 times three hexadecimal digits are two characters each, since a hash has 64 digits and two more stand for the padding.
function(chakra_page_hash text result)
  string(SHA256 digits "${text}")
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(hash)
  foreach(triple RANGE 21)
    math(EXPR at "3 * ${triple}")
    string(SUBSTRING "${digits}00" ${at} 3 three)
    math(EXPR first "0x${three} / 64")
    math(EXPR second "0x${three} % 64")
    string(SUBSTRING ${alphabet} ${first} 1 first)
    string(SUBSTRING ${alphabet} ${second} 1 second)
    string(APPEND hash ${first}${second})
  endforeach()
  string(REGEX REPLACE "A$" "=" hash ${hash})
  set(${result} "sha256-${hash}" PARENT_SCOPE)
endfunction()

function(chakra_page output style_file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${style_file} ${ARGN})
  file(READ ${style_file} style)
  set(script)
  foreach(file ${ARGN})
    file(READ ${file} part)
    string(APPEND script "${part}")
  endforeach()
  chakra_page_hash("${style}" style_hash)
  chakra_page_hash("${script}" script_hash)
  string(CONCAT policy "default-src 'none'; script-src '${script_hash}'; style-src '${style_hash}'; "
                       "base-uri 'none'; form-action 'none'")
  string(CONCAT before "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"${policy}\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<title>chakra report</title>\n<style>${style}</style>\n</head>\n<body>\n"
                       "<noscript>This report needs JavaScript.</noscript>\n<div id=\"page\"></div>\n"
                       "<script type=\"application/json\" id=\"data\">")
  set(after "</script>\n<script>${script}</script>\n</body>\n</html>\n")
  string(CONCAT code "// Made by cmake/page.cmake.\n#include <string_view>\nnamespace chakra::report {\n"
                     "constexpr std::string_view kBeforeData = R\"page(${before})page\";\n"
                     "constexpr std::string_view kAfterData = R\"page(${after})page\";\n}  // namespace chakra::report\n")
  file(CONFIGURE OUTPUT ${output} CONTENT "${code}" @ONLY)
endfunction()
