// The raw samples of a calibration: a CSV beside the platform file, which is also how far it has
// got. Whatever ends the program, the file holds what was measured so far.
//
//   # leanstream calibrate: the machine and the options
//   what,parameters,repetition,figure,value,unit,at_s
//   storage,bytes=4096 depth=8,0,rate,51234.5,1/s,1796035200
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leanstream::probe {

struct Sample {
  std::string what;
  std::string parameters;
  int repetition = 0;
  std::string figure;
  double value = 0;
  std::string unit;
  std::int64_t at_s = 0;  // since the epoch, when it was measured
};

// What the repetitions of one figure say. `spread` = (highest − lowest) ÷ median.
struct Measured {
  double median = 0;
  double spread = 0;
  std::size_t count = 0;
};

class SampleFile {
 public:
  // Takes the samples that are there; what an interrupted write left at the end goes. `origin` is
  // a line that names machine and options. Throws UserError when the file is of another origin,
  // damaged, or cannot be written. `fresh`: begins anew.
  SampleFile(std::string path, const std::string& origin, bool fresh);
  ~SampleFile();
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  // In one write. Throws UserError.
  void append(std::span<const Sample> samples);

  const std::vector<Sample>& all() const { return samples_; }
  const std::string& path() const { return path_; }
  bool has(const std::string& what, const std::string& parameters, int repetition,
           const std::string& figure) const;
  std::optional<Measured> find(const std::string& what, const std::string& parameters,
                               const std::string& figure) const;
  // The same of what must be there.
  Measured get(const std::string& what, const std::string& parameters,
               const std::string& figure) const;
  // Within which three quarters of the figures' spreads lie: how much the machine varies of its own
  // accord. 0 without samples.
  double usual_spread() const;

 private:
  void read(const std::string& first_line);

  std::string path_;
  int fd_ = -1;
  std::vector<Sample> samples_;
};

}  // namespace leanstream::probe
