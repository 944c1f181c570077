// Comma-separated tables (RFC 4180): results.csv, timing.csv, tokens.csv.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leanstream::report {

// A header and rows of equal width. Cells are text; an empty cell means "unknown", never 0.
class CsvTable {
 public:
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;

  // Reads a file. Quoted cells may hold commas, line ends and doubled quotes; a line may end in LF
  // or CRLF. Throws UserError with file:line for a row of the wrong width, a stray or unclosed
  // quote, a doubled or empty column name, or a file without header.
  static CsvTable read(const std::string& path);
  // The same from text; `name` stands for the file in messages.
  static CsvTable parse(std::string_view text, const std::string& name);

  // Writes all of it atomically, LF at line ends, quotes only where needed. A row of the wrong
  // width is a bug.
  void write(const std::string& path) const;
  std::string to_text() const;

  // The index of a column, nothing when there is none.
  std::optional<std::size_t> column(std::string_view name) const;
  // The cell, "" when the table has no such column.
  const std::string& text(std::size_t row, std::string_view name) const;
  // The cell as a number; nothing when it is empty or there is no such column. Throws UserError
  // (file:line) when it holds something else.
  std::optional<double> number(std::size_t row, std::string_view name) const;

 private:
  std::string name_ = "table";     // for messages
  std::vector<std::size_t> line_;  // where each row began, when it was read
};

// A number in its shortest form that reads back as the same double; "" for nothing, infinity or
// not-a-number.
std::string csv_number(std::optional<double> value);

}  // namespace leanstream::report
