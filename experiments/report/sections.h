// The sections of the report, each as HTML. "" where the results hold nothing for it.
#pragma once

#include <string>

#include "experiments/report/results.h"

namespace leanstream::report {

std::string headline_section(const Results& results);       // tokens/s and quality, one table
std::string speed_section(const Results& results);          // tokens/s against memory budget
std::string time_section(const Results& results);           // where the time of a token goes
std::string miss_section(const Results& results);           // miss ratios and Belady's bound
std::string traffic_section(const Results& results);        // bytes read, wanted, redundant
std::string quality_section(const Results& results);        // tokens/s against importance share
std::string configuration_section(const Results& results);  // what was run, and on what figures

}  // namespace leanstream::report
