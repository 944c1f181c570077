// The sections of the report, each as HTML. "" where the results hold nothing for it.
#pragma once

#include <set>
#include <string>

#include "experiments/report/results.h"

namespace leanstream::report {

std::string headline_section(const Results& results);       // tokens/s and quality, one table
std::string speed_section(const Results& results);          // tokens/s against memory budget
std::string time_section(const Results& results);           // where the time of a token goes
std::string miss_section(const Results& results);           // miss ratios and Belady's bound
std::string traffic_section(const Results& results);        // bytes read, wanted, redundant
std::string quality_section(const Results& results);        // tokens/s against importance share
std::string energy_section(const Results& results);         // joules, processor time, temperatures
std::string configuration_section(const Results& results);  // what was run, and on what figures

// Assumed figures of the platform on which the times of some row rest.
std::set<std::string> assumed_of_times(const Results& results);
// A sentence that says so; "" when there are none.
std::string assumed_note(const Results& results);

}  // namespace leanstream::report
