#include "platforms/probe/samples.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>

#include "engine/base/atomic_file.h"
#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/median.h"

namespace leanstream::probe {
namespace {

constexpr const char* kHeader = "what,parameters,repetition,figure,value,unit,at_s";
constexpr std::size_t kColumns = 7;

template <typename T>
bool parse(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

std::optional<Sample> parse_line(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
  if (fields.size() != kColumns) return std::nullopt;
  Sample s{fields[0], fields[1], 0, fields[3], 0, fields[5], 0};
  if (!parse(fields[2], s.repetition) || !parse(fields[4], s.value) || !parse(fields[6], s.at_s)) {
    return std::nullopt;
  }
  return s;
}

}  // namespace

SampleFile::SampleFile(std::string path, const std::string& origin, bool fresh)
    : path_(std::move(path)) {
  const std::string first_line = "# leanstream calibrate: " + origin;
  if (fresh || !std::filesystem::exists(path_)) {
    write_file(path_, first_line + "\n" + kHeader + "\n");
  } else {
    read(first_line);
  }
  fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0) throw UserError("{} cannot be written: {}", path_, std::strerror(errno));
}

SampleFile::~SampleFile() {
  if (fd_ >= 0) ::close(fd_);
}

void SampleFile::read(const std::string& first_line) {
  std::string text = read_file(path_);
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (whole < text.size()) {
    std::error_code error;
    std::filesystem::resize_file(path_, whole, error);
    if (error) throw UserError("{} cannot be written: {}", path_, error.message());
    text.resize(whole);
  }
  std::istringstream in(text);
  std::string line;
  std::getline(in, line);
  if (line != first_line) {
    throw UserError(
        "{}: its samples are of another machine or other options ({}), not of these ({}); --fresh "
        "measures anew, another --out keeps them",
        path_, line, first_line);
  }
  std::getline(in, line);
  for (int number = 3; std::getline(in, line); ++number) {
    auto sample = parse_line(line);
    if (!sample) {
      throw UserError(
          "{}:{}: '{}' is no sample ({}); delete the line, or measure anew with --fresh", path_,
          number, line, kHeader);
    }
    samples_.push_back(std::move(*sample));
  }
}

void SampleFile::append(std::span<const Sample> samples) {
  std::string lines;
  for (const Sample& s : samples) {
    lines += fmt::format("{},{},{},{},{},{},{}\n", s.what, s.parameters, s.repetition, s.figure,
                         s.value, s.unit, s.at_s);
  }
  if (::write(fd_, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) {
    throw UserError("{} cannot be written: {}", path_, std::strerror(errno));
  }
  samples_.insert(samples_.end(), samples.begin(), samples.end());
}

bool SampleFile::has(const std::string& what, const std::string& parameters, int repetition,
                     const std::string& figure) const {
  return std::any_of(samples_.begin(), samples_.end(), [&](const Sample& s) {
    return s.repetition == repetition && s.what == what && s.parameters == parameters &&
           s.figure == figure;
  });
}

std::optional<Measured> SampleFile::find(const std::string& what, const std::string& parameters,
                                         const std::string& figure) const {
  std::map<int, double> by_repetition;  // half a measurement was followed by a whole one
  for (const Sample& s : samples_) {
    if (s.what == what && s.parameters == parameters && s.figure == figure) {
      by_repetition[s.repetition] = s.value;
    }
  }
  std::vector<double> values;
  for (const auto& [repetition, value] : by_repetition) values.push_back(value);
  if (values.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double middle = median(values);
  return Measured{middle, middle > 0 ? (*most - *least) / middle : 0, values.size()};
}

Measured SampleFile::get(const std::string& what, const std::string& parameters,
                         const std::string& figure) const {
  const auto found = find(what, parameters, figure);
  LEANSTREAM_CHECK(found, "{} of {} ({}) was not measured", figure, what, parameters);
  return *found;
}

double SampleFile::usual_spread() const {
  std::set<std::tuple<std::string, std::string, std::string>> figures;
  for (const Sample& s : samples_) figures.emplace(s.what, s.parameters, s.figure);
  std::vector<double> spreads;
  for (const auto& [what, parameters, figure] : figures) {
    spreads.push_back(get(what, parameters, figure).spread);
  }
  std::sort(spreads.begin(), spreads.end());
  return spreads.empty() ? 0 : spreads[spreads.size() * 3 / 4];
}

}  // namespace leanstream::probe
