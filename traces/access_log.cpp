#include "traces/access_log.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "engine/base/atomic_file.h"

namespace leanstream::traces {
namespace {

constexpr std::size_t kRecordBytes = 24;
constexpr std::int64_t kNever = -1;

// Calls visit(token, layer, block) in order.
template <typename Visit>
void for_each_access(const SetSequence& sets, Visit&& visit) {
  for (TokenId t = 0; t < sets.tokens(); ++t) {
    for (LayerId l = 0; l < sets.layers(); ++l) {
      sets.at(t, l).for_each([&](BlockId b) { visit(t, l, b); });
    }
  }
}

std::size_t number_of(const SetSequence& sets, LayerId layer, BlockId block) {
  return static_cast<std::size_t>(layer) * static_cast<std::size_t>(sets.ffn()) +
         static_cast<std::size_t>(block);
}

// Of each access, the index of the next one to the same block.
std::vector<std::int64_t> next_accesses(const SetSequence& sets) {
  std::vector<std::int64_t> next;
  std::vector<std::int64_t> last(static_cast<std::size_t>(sets.neurons()), kNever);
  for_each_access(sets, [&](TokenId, LayerId l, BlockId b) {
    std::int64_t& before = last[number_of(sets, l, b)];
    if (before != kNever) next[static_cast<std::size_t>(before)] = std::ssize(next);
    before = std::ssize(next);
    next.push_back(kNever);
  });
  return next;
}

template <typename T>
std::byte* put(T value, std::byte* at) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    *at++ = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
  }
  return at;
}

}  // namespace

std::int64_t write_accesses(const SetSequence& sets, AccessFormat format, const std::string& path) {
  AtomicFile file(path);
  std::int64_t count = 0;
  if (format == AccessFormat::csv) {
    file.write("time,token,layer,block,size\n");
    for_each_access(sets, [&](TokenId t, LayerId l, BlockId b) {
      file.write(fmt::format("{},{},{},{},1\n", count++, t, l, b));
    });
  } else {
    const auto next = next_accesses(sets);
    file.reserve(kRecordBytes * next.size());
    std::array<std::byte, kRecordBytes> record{};
    for_each_access(sets, [&](TokenId t, LayerId l, BlockId b) {
      std::byte* at = put(static_cast<std::uint32_t>(t), record.data());
      at = put(std::uint64_t{1} + number_of(sets, l, b), at);
      at = put(std::uint32_t{1}, at);
      put(next[static_cast<std::size_t>(count++)], at);
      file.write(std::span<const std::byte>(record));
    });
  }
  file.commit();
  return count;
}

}  // namespace leanstream::traces
