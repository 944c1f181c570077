#include "experiments/report/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "engine/base/atomic_file.h"
#include "engine/base/check.h"
#include "engine/base/error.h"

namespace leanstream::report {
namespace {

// Cuts text into records of cells. One pass; knows the line for messages.
class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  bool at_end() const { return position_ >= text_.size(); }
  std::size_t line() const { return line_; }

  std::vector<std::string> record() {
    std::vector<std::string> cells;
    while (true) {
      cells.push_back(peek() == '"' ? in_quotes() : plain());
      if (peek() == ',') {
        ++position_;
        continue;
      }
      end_of_record();
      return cells;
    }
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }

  std::string plain() {
    const std::size_t end = std::min(text_.find_first_of(",\r\n\"", position_), text_.size());
    std::string cell(text_.substr(position_, end - position_));
    position_ = end;
    if (peek() == '"') fail(line_, "a quote inside a cell that does not begin with one");
    return cell;
  }

  std::string in_quotes() {
    const std::size_t opened = line_;
    std::string cell;
    for (++position_; !at_end(); ++position_) {
      const char c = text_[position_];
      if (c == '"') {
        ++position_;
        if (peek() != '"') return cell;
      }
      if (c == '\n') ++line_;
      cell += c;
    }
    fail(opened, "a quoted cell is not closed");
  }

  void end_of_record() {
    if (peek() == '\r' && peek(1) == '\n') ++position_;
    if (!at_end() && peek() != '\n') fail(line_, "text after a quoted cell");
    ++position_;
    ++line_;
  }

  [[noreturn]] void fail(std::size_t line, std::string_view what) const {
    throw UserError("{}:{}: {}", name_, line, what);
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
};

void check_header(const std::vector<std::string>& header, const std::string& name) {
  std::set<std::string_view> seen;
  for (const std::string& column : header) {
    if (column.empty()) throw UserError("{}:1: a column has no name", name);
    if (!seen.insert(column).second) throw UserError("{}:1: column '{}' twice", name, column);
  }
}

void append_record(std::string& out, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += ',';
    const bool lone_empty = cells.size() == 1 && cells[i].empty();
    if (!lone_empty && cells[i].find_first_of(",\"\r\n") == std::string::npos) {
      out += cells[i];
      continue;
    }
    out += '"';
    for (const char c : cells[i]) {
      if (c == '"') out += '"';
      out += c;
    }
    out += '"';
  }
  out += '\n';
}

}  // namespace

CsvTable CsvTable::parse(std::string_view text, const std::string& name) {
  CsvTable table;
  table.name_ = name;
  Reader reader(text, name);
  if (reader.at_end()) throw UserError("{}:1: no header line", name);
  table.header = reader.record();
  check_header(table.header, name);
  while (!reader.at_end()) {
    const std::size_t line = reader.line();
    table.rows.push_back(reader.record());
    table.line_.push_back(line);
    if (table.rows.back().size() != table.header.size()) {
      throw UserError("{}:{}: {} cells, but the header has {}", name, line,
                      table.rows.back().size(), table.header.size());
    }
  }
  return table;
}

CsvTable CsvTable::read(const std::string& path) {
  return parse(read_file(path), path);
}

std::string CsvTable::to_text() const {
  std::string out;
  append_record(out, header);
  for (const auto& row : rows) {
    LEANSTREAM_CHECK(row.size() == header.size(), "a row of {} cells under a header of {}",
                     row.size(), header.size());
    append_record(out, row);
  }
  return out;
}

void CsvTable::write(const std::string& path) const {
  write_file(path, to_text());
}

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

const std::string& CsvTable::text(std::size_t row, std::string_view name) const {
  static const std::string none;
  const auto index = column(name);
  return index ? rows.at(row)[*index] : none;
}

std::optional<double> CsvTable::number(std::size_t row, std::string_view name) const {
  const std::string& cell = text(row, name);
  if (cell.empty()) return std::nullopt;
  double value = 0;
  const char* end = cell.data() + cell.size();
  const auto [stop, error] = std::from_chars(cell.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value)) {
    const std::size_t line = row < line_.size() ? line_[row] : row + 2;
    throw UserError("{}:{}: column '{}' holds '{}', not a number", name_, line, name, cell);
  }
  return value;
}

std::string csv_number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "";
  return fmt::format("{}", *value);
}

}  // namespace leanstream::report
