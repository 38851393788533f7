#include "chakra/recording/secrets.h"

#include <absl/hash/hash.h>
#include <absl/strings/ascii.h>

#include <algorithm>

#include "chakra/recording/public_names.h"

namespace chakra::recording {
namespace {

constexpr size_t kLongestExample = 80;

bool is_upper(char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); }
bool is_decimal(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool is_letter(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }
bool is_hex(char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); }
bool is_word(char c) { return is_letter(c) || is_decimal(c) || c == '_'; }
template <class Is>
bool all(std::string_view text, const Is& is) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is);
}

/// Members whose whole text is a user or a host.
constexpr std::array<std::string_view, 8> kUserMembers{"user",  "username", "user_name", "owner",
                                                       "login", "author",   "logname",   "account"};
constexpr std::array<std::string_view, 9> kHostMembers{"host",     "hostname", "host_name", "node",  "node_name",
                                                       "nodename", "machine",  "server",    "domain"};
/// Members whose whole text is a token, or the last words of their names.
constexpr std::array<std::string_view, 9> kTokenMembers{"token",  "password",   "passwd",      "pwd",       "secret",
                                                        "apikey", "credential", "credentials", "passphrase"};
constexpr std::array<std::string_view, 4> kTokenEndings{"_token", "_password", "_secret", "_key"};
constexpr std::array<std::string_view, 8> kTimeWords{"time",   "ts",    "date",  "start",
                                                     "finish", "clock", "begin", "stamp"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view text) {
  return std::find(words.begin(), words.end(), to_lower(text)) != words.end();
}
bool tells_token(std::string_view member) {
  const std::string low = to_lower(member);
  return is_one_of(kTokenMembers, low) || std::any_of(kTokenEndings.begin(), kTokenEndings.end(),
                                                      [&](std::string_view end) { return low.ends_with(end); });
}
bool tells_time(std::string_view member) {
  const std::string low = to_lower(member);
  return std::any_of(kTimeWords.begin(), kTimeWords.end(), [&](std::string_view word) { return contains(low, word); });
}

// ---- kinds of one token: a run of characters without blanks and brackets -----------------------------------------

bool is_email(std::string_view t) {
  const size_t at = t.find('@');
  if (at == 0 || at == std::string_view::npos || t.find('@', at + 1) != std::string_view::npos) return false;
  const std::string_view domain = t.substr(at + 1);
  const size_t dot = domain.rfind('.');
  return dot != std::string_view::npos && dot > 0 && domain.size() - dot > 2 &&
         all(domain.substr(dot + 1), is_letter) &&
         all(t.substr(0, at), [](char c) { return is_word(c) || c == '.' || c == '-' || c == '+' || c == '%'; });
}

bool is_ipv4(std::string_view t) {
  int parts = 0;
  for (size_t i = 0; i < t.size(); ++parts) {
    const size_t end = std::min(t.find_first_not_of("0123456789", i), t.size());
    int64_t number = 0;
    if (end == i || end - i > 3 || !parse_decimal(t.substr(i, end - i), number) || number > 255) return false;
    if (end == t.size() || t[end] == ':' || t[end] == '/') return parts == 3;
    if (t[end] != '.') return false;
    i = end + 1;
  }
  return false;
}

/// IPv6 and MAC addresses: hexadecimal groups and colons.
bool is_colon_address(std::string_view t) {
  t = t.substr(0, t.find('%'));
  if (!all(t, [](char c) { return is_hex(c) || c == ':'; })) return false;
  const auto colons = std::count(t.begin(), t.end(), ':');
  const bool hex = std::any_of(t.begin(), t.end(), is_hex);
  return hex && (colons == 7 || colons == 5 || (colons >= 2 && contains(t, "::")));
}

/// Names below the domains that networks use.
bool is_host(std::string_view t) {
  constexpr std::array<std::string_view, 14> kDomains{".com", ".org",  ".net",     ".edu",      ".gov",
                                                      ".io",  ".ai",   ".local",   ".internal", ".lan",
                                                      ".dev", ".corp", ".cluster", ".cloud"};
  t = t.substr(0, t.find(':'));
  const std::string low = to_lower(t);
  return all(t, [](char c) { return is_word(c) || c == '.' || c == '-'; }) && t.front() != '.' &&
         std::any_of(kDomains.begin(), kDomains.end(), [&](std::string_view end) { return low.ends_with(end); });
}

bool is_date(std::string_view t) {
  for (const char between : {'-', '/', '.'}) {
    if (t.size() < 10 || t[4] != between || t[7] != between) continue;
    if (all(t.substr(0, 4), is_decimal) && all(t.substr(5, 2), is_decimal) && all(t.substr(8, 2), is_decimal))
      return t[0] == '1' || t[0] == '2';
  }
  return false;
}

bool is_setting(std::string_view t) {
  const size_t equals = t.find('=');
  if (equals == std::string_view::npos || equals < 3) return false;
  const std::string_view name = t.substr(0, equals);
  return (is_upper(name[0]) || name[0] == '_') &&
         all(name, [](char c) { return is_upper(c) || is_decimal(c) || c == '_'; });
}

/// Beginnings of keys that services give out, and long runs without words.
bool is_token(std::string_view t) {
  constexpr std::array<std::string_view, 15> kBegins{"hf_",  "ghp_",        "gho_",   "ghu_", "ghs_",
                                                     "ghr_", "github_pat_", "glpat-", "sk-",  "AKIA",
                                                     "ASIA", "xoxb-",       "xoxp-",  "AIza", "eyJ"};
  const auto key = [](char c) { return is_word(c) || c == '-' || c == '.' || c == '+' || c == '/' || c == '='; };
  if (t.size() >= 16 && all(t, key) && !contains(t, "==") &&
      std::any_of(kBegins.begin(), kBegins.end(), [&](std::string_view begin) { return t.starts_with(begin); }))
    return true;
  if (t.size() < 32 || t.starts_with("_Z")) return false;  // names of C++
  const bool digits = std::any_of(t.begin(), t.end(), is_decimal), letters = std::any_of(t.begin(), t.end(), is_letter);
  if (all(t, [](char c) { return is_hex(c) || c == '-'; })) return digits;  // hashes and UUIDs
  size_t run = 0, changes = 0;  // changes between lower case, upper case and digits
  for (size_t i = 0; i < t.size(); ++i) {
    const auto sort = [](char c) { return is_decimal(c) ? 0 : is_upper(c) ? 1 : 2; };
    if (!is_letter(t[i]) && !is_decimal(t[i]) && t[i] != '+' && t[i] != '/' && t[i] != '=') return false;
    changes += i > 0 && sort(t[i]) != sort(t[i - 1]);
    ++run;
  }
  return digits && letters && changes * 4 > run;
}

bool is_path(std::string_view t) {
  constexpr std::array<std::string_view, 12> kEndings{".py",   ".cpp", ".cc",  ".cu", ".h",    ".so",
                                                      ".json", ".pt",  ".yml", ".sh", ".yaml", ".txt"};
  if (contains(t, "://")) return false;
  const size_t slash = t.find_first_of("/\\");
  const bool names = std::count_if(t.begin(), t.end(), is_letter) >= 2;
  if (slash != std::string_view::npos) return names && t.size() >= 3;
  return names && std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view end) { return t.ends_with(end); });
}

/// The user of a path in a home folder; empty: none.
std::string_view user_of(std::string_view path) {
  for (const std::string_view home : {"/home/", "/Users/", "/users/", "\\Users\\", "~"}) {
    const size_t at = path.find(home);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = path.substr(at + home.size());
    return rest.substr(0, rest.find_first_of("/\\"));
  }
  return {};
}

}  // namespace

void Secrets::note(Secret kind, std::string_view text) {
  Found& found = found_[static_cast<size_t>(kind)];
  ++found.count;
  if (!found.different.insert(absl::HashOf(text)).second || found.examples.size() >= kExamples) return;
  found.examples.emplace_back(text.substr(0, kLongestExample));
}

bool Secrets::add_path(std::string_view token) {
  if (!is_path(token)) return false;
  note(Secret::path, token);
  if (const std::string_view user = user_of(token); !user.empty()) note(Secret::user, user);
  return true;
}

/// Returns whether the token is of a kind that a pattern tells.
bool Secrets::add_token(std::string_view t) {
  if (is_email(t)) return note(Secret::email, t), true;
  if (is_token(t)) return note(Secret::token, t), true;
  if (is_setting(t)) {
    note(Secret::environment, t);
    const std::string_view value = t.substr(t.find('=') + 1);
    if (!value.empty() && tells_token(t.substr(0, t.find('=')))) note(Secret::token, value);
    else if (!value.empty() && !is_setting(value)) (void)add_token(value);
    return true;
  }
  if (const size_t is = t.find_first_of("=:"); is != std::string_view::npos && is + 1 < t.size())
    if (tells_token(t.substr(0, is))) return note(Secret::token, t), true;
  if (contains(t, "://")) {
    note(Secret::address, t);
    const size_t begin = t.find("://") + 3;
    if (const size_t at = t.find('@', begin); at != std::string_view::npos)
      note(Secret::user, t.substr(begin, at - begin));
    return true;
  }
  if (is_ipv4(t) || is_colon_address(t)) return note(Secret::address, t), true;
  if (is_date(t)) return note(Secret::date, t), true;
  if (is_host(t)) return note(Secret::host, t), true;
  return add_path(t);
}

void Secrets::add(std::string_view member, std::string_view text) {
  ++texts_;
  if (text.empty() || is_public_name(text)) return;
  if (tells_token(member)) return note(Secret::token, text);
  if (is_one_of(kUserMembers, member)) return note(Secret::user, text);
  if (is_one_of(kHostMembers, member)) return note(Secret::host, text);
  constexpr std::string_view kBetween = " \t\r\n\"'`,;()[]{}<>|";
  bool other = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = text.find_first_not_of(kBetween, at);
    if (begin == std::string_view::npos) break;
    const size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    std::string_view token = text.substr(begin, end - begin);
    while (token.size() > 1 && (token.back() == '.' || token.back() == ':')) token.remove_suffix(1);
    at = end;
    if (is_public_word(token)) {
      if (token.size() >= 9) add_number(member, token);
      continue;
    }
    if (!add_token(token))
      other = other || std::any_of(token.begin(), token.end(),
                                   [](char c) { return is_letter(c) || static_cast<unsigned char>(c) >= 0x80; });
  }
  if (other) note(Secret::name, text);
}

void Secrets::add_number(std::string_view member, std::string_view digits) {
  digits = digits.substr(0, digits.find('.'));
  int64_t number = 0;
  if (!parse_decimal(digits, number) || !tells_time(member)) return;
  constexpr int64_t k2010 = 1262304000, k2040 = 2208988800;  // seconds
  for (const int64_t unit : {int64_t{1}, int64_t{1000}, int64_t{1'000'000}, int64_t{1'000'000'000}})
    if (number / unit >= k2010 && number / unit < k2040) return note(Secret::date, digits);
}

void Secrets::add_member(std::string_view name) {
  if (!is_public_name(name)) add("", name);
}

}  // namespace chakra::recording
