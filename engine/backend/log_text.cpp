#include "engine/backend/log_text.h"

#include <algorithm>
#include <deque>
#include <map>

#include <fmt/format.h>

namespace leanstream::backend {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;

constexpr std::size_t kShownItems = 8;   // of a list
constexpr std::size_t kShownEvents = 8;  // before a difference

template <typename T>
std::string list(const char* name, std::span<const T> items, std::size_t from = 0) {
  if (items.empty()) return "";
  from = items.size() > kShownItems ? std::min(from, items.size() - 1) : 0;
  std::string text = fmt::format("; {}{}", name, from > 0 ? fmt::format("[{}…]", from) : "");
  for (std::size_t i = from; i < std::min(items.size(), from + kShownItems); ++i) {
    text += fmt::format(" {}", items[i]);
  }
  if (items.size() > kShownItems) text += fmt::format(" … ({} in all)", items.size());
  return text;
}

// The index from which two lists differ; nothing when they are equal.
template <typename T>
std::optional<std::size_t> differ_at(std::span<const T> a, std::span<const T> b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end() && y == b.end()) return std::nullopt;
  return static_cast<std::size_t>(x - a.begin());
}

template <typename T>
std::string item_text(std::span<const T> items, std::size_t i) {
  return i < items.size() ? fmt::format("{}", items[i]) : "missing";
}

// "NAME is A in the log, B now".
std::string is(const std::string& name, const std::string& a, const std::string& b,
               const Sides& sides) {
  return fmt::format("{} is {} {}, {} {}", name, a, sides.first, b, sides.second);
}

template <typename T>
std::string list_difference(const char* name, std::span<const T> a, std::span<const T> b,
                            const Sides& sides) {
  const auto at = differ_at(a, b);
  if (!at) return "";
  return is(fmt::format("{}[{}]", name, *at), item_text(a, *at), item_text(b, *at), sides);
}

// Of two commands, what differs first, and from which item their lists are worth showing.
std::pair<std::string, std::size_t> first_field(const Command& a, const Command& b,
                                                const Sides& sides) {
  if (a.kind != b.kind) return {is("the kind", name_of(a.kind), name_of(b.kind), sides), 0};
  const CommandFields fa = fields_of(a), fb = fields_of(b);
  for (std::size_t i = 0; i < kCommandFields; ++i) {
    if (fa[i] == fb[i]) continue;
    return {is(field_name(i), std::to_string(fa[i]), std::to_string(fb[i]), sides), 0};
  }
  const auto from = differ_at(a.blocks, b.blocks);
  if (from) return {list_difference("blocks", a.blocks, b.blocks, sides), *from};
  return {list_difference("slots", a.slots, b.slots, sides),
          differ_at(a.slots, b.slots).value_or(0)};
}

std::string first_field(const Completion& a, std::uint64_t a_scores, const Completion& b,
                        std::uint64_t b_scores, const Sides& sides) {
  const auto number = [&](const char* name, std::int64_t x, std::int64_t y) {
    return x == y ? "" : is(name, std::to_string(x), std::to_string(y), sides);
  };
  const auto text = [&](const char* name, const std::string& x, const std::string& y) {
    return x == y ? "" : is(name, x, y, sides);
  };
  for (const std::string& found :
       {number("the ticket", static_cast<std::int64_t>(a.ticket),
               static_cast<std::int64_t>(b.ticket)),
        number("the time (ns)", a.time_ns, b.time_ns),
        text("the status", name_of(a.status), name_of(b.status)),
        number("work_ns", a.work_ns, b.work_ns), number("sampled", a.sampled, b.sampled),
        list_difference("not_read", a.not_read, b.not_read, sides),
        list_difference("request_ns", a.request_ns, b.request_ns, sides),
        text("the hash of the scores", fmt::format("{:016x}", a_scores),
             fmt::format("{:016x}", b_scores)),
        list_difference("nll", a.nll, b.nll, sides)}) {
    if (!found.empty()) return found;
  }
  return "";
}

// Two lines, the names of the sides set to one width.
std::string both(const std::string& a, const std::string& b, const Sides& sides) {
  const auto width = std::max(sides.first.size(), sides.second.size());
  return fmt::format("  {:{}}  {}\n  {:{}}  {}\n", sides.first, width, a, sides.second, width, b);
}

}  // namespace

std::string describe(const Command& c, std::size_t from) {
  std::string text = fmt::format("{}, ticket {}", name_of(c.kind), c.ticket);
  if (c.layer != kNone) text += fmt::format(", layer {}", c.layer);
  text += fmt::format(", token {}", c.token);
  if (c.tokens != 1) text += fmt::format(" and {} more", c.tokens - 1);
  if (c.kind == CommandKind::read) {
    text += fmt::format(", lane {}, merge {}", c.lane, c.merge_blocks);
  }
  if (c.kind == CommandKind::release) text += fmt::format(", segment {}", c.segment);
  if (c.kind == CommandKind::predict) text += fmt::format(", feature {}", c.feature);
  if (c.kind == CommandKind::cancel) text += fmt::format(", target {}", c.target);
  return text + list("blocks", c.blocks, from) + list("slots", c.slots, from);
}

std::string describe(const Completion& c, std::uint64_t scores_hash) {
  if (c.status == Status::timed_out) return "nothing had completed by the deadline";
  std::string text = fmt::format("ticket {} is done: {}", c.ticket, name_of(c.status));
  if (c.work_ns != 0) text += fmt::format(", {} ns of work", c.work_ns);
  if (c.sampled != kNone) text += fmt::format(", sampled {}", c.sampled);
  if (scores_hash != 0) text += fmt::format(", scores {:016x}", scores_hash);
  return text + list("not read", c.not_read) + list("request ns", c.request_ns) +
         list("nll", c.nll);
}

std::string difference(const Command& a, const Command& b, const Sides& sides) {
  const auto [what, from] = first_field(a, b, sides);
  if (what.empty()) return "";
  return what + "\n" + both(describe(a, from), describe(b, from), sides);
}

std::string difference(const Completion& a, std::uint64_t a_scores, const Completion& b,
                       std::uint64_t b_scores, const Sides& sides) {
  const std::string what = first_field(a, a_scores, b, b_scores, sides);
  if (what.empty()) return "";
  return what + "\n" +
         both(fmt::format("{} ns: {}", a.time_ns, describe(a, a_scores)),
              fmt::format("{} ns: {}", b.time_ns, describe(b, b_scores)), sides);
}

std::string events_before(const std::string& path, std::int64_t batch, std::size_t commands,
                          std::size_t completions) {
  LogReader reader(path);
  LogBatch at;
  std::deque<std::string> lines;
  std::map<TicketId, CommandKind> kinds;  // of what is under way
  TimeNs now_ns = 0;
  const auto add = [&](TimeNs time_ns, const std::string& what) {
    lines.push_back(fmt::format("\n  {:>14} ns  {}", time_ns, what));
    if (lines.size() > kShownEvents) lines.pop_front();
  };
  for (std::int64_t i = 0; i <= batch && reader.next(at); ++i) {
    const bool here = i == batch;
    const auto first = [here](std::size_t limit, std::size_t size) {
      return here ? std::min(limit, size) : size;
    };
    for (const Command& c : at.commands) kinds[c.ticket] = c.kind;
    if (i + static_cast<std::int64_t>(kShownEvents) < batch) {
      for (const Completion& c : at.completions) kinds.erase(c.ticket);
      continue;
    }
    for (std::size_t k = 0; k < first(commands, at.commands.size()); ++k) {
      add(now_ns, describe(at.commands[k]));
    }
    for (std::size_t k = 0; k < first(completions, at.completions.size()); ++k) {
      const Completion& c = at.completions[k];
      now_ns = c.time_ns;
      const auto kind = kinds.find(c.ticket);
      add(now_ns, (kind == kinds.end() ? "" : fmt::format("{}, ", name_of(kind->second))) +
                      describe(c, at.scores_hash[k]));
    }
  }
  std::string text;
  for (const auto& line : lines) text += line;
  return text.empty() ? "nothing came before it" : "before it:" + text;
}

namespace {

// Of two batches with the same index.
std::string batch_difference(const LogBatch& a, const LogBatch& b, const std::string& path,
                             std::int64_t index, const Sides& sides) {
  const auto place = [&](const std::string& what, std::size_t commands, std::size_t completions) {
    return fmt::format("batch {}: {}{}", index, what,
                       events_before(path, index, commands, completions));
  };
  const auto count = [&](const char* what, std::size_t x, std::size_t y) {
    return is(fmt::format("the number of {}", what), std::to_string(x), std::to_string(y), sides) +
           "\n";
  };
  for (std::size_t i = 0; i < std::min(a.commands.size(), b.commands.size()); ++i) {
    const std::string what = difference(a.commands[i], b.commands[i], sides);
    if (!what.empty()) return place(what, i, 0);
  }
  if (a.commands.size() != b.commands.size()) {
    return place(count("commands", a.commands.size(), b.commands.size()), a.commands.size(), 0);
  }
  for (std::size_t i = 0; i < std::min(a.completions.size(), b.completions.size()); ++i) {
    const std::string what =
        difference(a.completions[i], a.scores_hash[i], b.completions[i], b.scores_hash[i], sides);
    if (!what.empty()) return place(what, a.commands.size(), i);
  }
  if (a.completions.size() == b.completions.size()) return "";
  return place(count("completions", a.completions.size(), b.completions.size()), a.commands.size(),
               a.completions.size());
}

}  // namespace

std::string first_difference(const std::string& path_a, const std::string& path_b,
                             const Sides& sides) {
  LogReader a(path_a), b(path_b);
  LogBatch batch_a, batch_b;
  for (std::int64_t index = 0;; ++index) {
    const bool more_a = a.next(batch_a), more_b = b.next(batch_b);
    if (more_a != more_b) {
      return fmt::format("{} goes on after batch {}, where the other ends; {}",
                         more_a ? sides.first : sides.second, index,
                         events_before(path_a, index, 0, 0));
    }
    if (!more_a) return "";
    const std::string what = batch_difference(batch_a, batch_b, path_a, index, sides);
    if (!what.empty()) return what;
  }
}

}  // namespace leanstream::backend
