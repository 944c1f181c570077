// Options whose values are words.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "experiments/commands/commands.h"

namespace leanstream::commands {

template <typename T>
using Choices = std::vector<std::pair<std::string, T>>;

template <typename T>
const std::string& name_of(const Choices<T>& choices, T value) {
  return std::find_if(choices.begin(), choices.end(),
                      [&](const auto& c) { return c.second == value; })
      ->first;
}

// `value` is the default and outlives the command line. Help and errors show the words alone.
template <typename T>
CLI::Option* add_choice(CLI::App& command, const std::string& option, T& value,
                        const Choices<T>& choices, const std::string& help) {
  std::vector<std::string> words;
  for (const auto& [word, _] : choices) words.push_back(word);
  return command
      .add_option_function<std::string>(
          option,
          [&value, choices](const std::string& word) {
            value = std::find_if(choices.begin(), choices.end(), [&](const auto& c) {
                      return c.first == word;
                    })->second;
          },
          help)
      ->check(CLI::IsMember(words))
      ->default_str(name_of(choices, value));
}

}  // namespace leanstream::commands
