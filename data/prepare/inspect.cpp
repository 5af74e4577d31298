// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/inspect.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <exception>
#include <iomanip>
#include <new>
#include <ostream>

#include "data/storage/dataset.hpp"
#include "data/storage/read_shard.hpp"
#include "data/storage/shard_reader.hpp"
#include "data/storage/shard_store.hpp"
#include "data/storage/verify_shard.hpp"
#include "data/tokenizers/dataset_tokenizer.hpp"
#include "data/tokenizers/unknown_words.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/system_failure.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::data {
namespace {

// Counts row lengths: bin b counts lengths of b bits, which are 2^(b-1) to 2^b - 1.
class LengthHistogram {
public:
    void add(std::uint32_t length) noexcept {
        ++bins_[static_cast<std::size_t>(std::bit_width(length))];
    }
    std::uint64_t operator[](std::size_t bin) const { return bins_.at(bin); }
    // Returns the range of a bin, such as "8-15".
    static std::string label(std::size_t bin) {
        if (bin < 2) return std::to_string(bin);
        return std::to_string(1ull << (bin - 1)) + "-" + std::to_string((1ull << bin) - 1);
    }

    static constexpr std::size_t bins = 33;

private:
    std::array<std::uint64_t, bins> bins_{};
};

constexpr std::int64_t rows_at_once = 4096;

std::string counted(std::uint64_t count, const char* noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string mean(std::uint64_t sum, std::uint64_t count) {
    const std::uint64_t tenths = count == 0 ? 0 : 10 * sum / count;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

// Replaces line feeds and control characters, so that any text fits into one line of a terminal.
std::string one_line(std::string text) {
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at))
        text.replace(at, 1, " / ");
    return printable(text);
}

struct Inspection {
    const Dataset& dataset;
    const Tokenizer& tokenizer;
    const InspectOptions& options;
    std::ostream& out;
};

class SplitInspection {
public:
    SplitInspection(const Inspection& all, const SplitInfo& split) : all_(all), split_(split) {}

    void write() {
        write_counts();
        for (std::size_t shard = 0; shard < split_.shards.size(); ++shard) read_lengths(shard);
        if (all_.options.shards == InspectOptions::Shards::verify) verify();
        compare_counts();
        write_histogram();
        write_samples();
    }

private:
    ShardIdentity identity(std::size_t shard) const {
        return shard_identity(all_.dataset, split_, shard);
    }

    void write_counts() {
        all_.out << '\n'
                 << printable(split_.name) << ": " << counted(split_.rows, "row") << " in "
                 << counted(split_.shards.size(), "shard") << '\n';
        const auto side = [&](const char* name, std::uint64_t tokens, std::int64_t longest) {
            all_.out << "  " << name << ": " << tokens << " tokens, " << mean(tokens, split_.rows)
                     << " a row, " << longest << " the longest\n";
        };
        side("source", split_.source_tokens, split_.longest_source);
        side("target", split_.target_tokens, split_.longest_target);
        if (split_.label_tokens)
            all_.out << "  labels: " << *split_.label_tokens << " tokens of the targets\n";
        if (split_.texts.all > 0)
            all_.out << "  text: " << split_.texts.all << " tokens, " << unknown_text(split_.texts)
                     << '\n';
        for (const ShardInfo& shard : split_.shards)
            all_.out << "  " << printable(shard.file) << ": " << counted(shard.rows, "row") << ", "
                     << counted(shard.tokens, "token") << ", " << shard.bytes << " bytes\n";
    }

    void verify() {
        for (std::size_t number = 0; number < split_.shards.size(); ++number) {
            const ShardInfo& shard = split_.shards[number];
            read_shard(all_.dataset, split_, number, Clock::time_point::max());
            all_.out << "  " << printable(shard.file)
                     << (shard.xxh3.empty() ? ": every row was read; dataset.json has no hash of it"
                                            : ": every row was read, and its hash is the one in "
                                              "dataset.json")
                     << '\n';
        }
    }

    void read_lengths(std::size_t shard) {
        ShardReader reader(all_.dataset.shard_path(split_.shards[shard]), identity(shard));
        const auto rows = static_cast<std::int64_t>(split_.shards[shard].rows);
        std::vector<RowExtent> extents;
        for (std::int64_t first = 0; first < rows; first += rows_at_once) {
            extents.clear();
            reader.append_extents(first, std::min(rows_at_once, rows - first), extents);
            for (const RowExtent& extent : extents) {
                source_.add(static_cast<std::uint32_t>(extent.source));
                target_.add(static_cast<std::uint32_t>(extent.label));
                source_tokens_ += static_cast<std::uint64_t>(extent.source);
                target_tokens_ += static_cast<std::uint64_t>(extent.label);
                label_tokens_ += static_cast<std::uint64_t>(extent.label - extent.unlabelled);
                longest_source_ = std::max<std::int64_t>(longest_source_, extent.source);
                longest_target_ = std::max<std::int64_t>(longest_target_, extent.label);
            }
        }
    }

    void compare_counts() const {
        compare("source_tokens", split_.source_tokens, source_tokens_);
        compare("target_tokens", split_.target_tokens, target_tokens_);
        compare("label_tokens", split_.labels(), label_tokens_);
        compare("longest_source", split_.longest_source, longest_source_);
        compare("longest_target", split_.longest_target, longest_target_);
    }

    template <class Count>
    void compare(const char* name, Count written, Count found) const {
        if (written == found) return;
        throw Error(ErrorKind::data, all_.options.data + "/" + format::dataset_file + ": \"" +
                                         name + "\" of " + printable(split_.name) + " is " +
                                         std::to_string(written) + ", but its rows have " +
                                         std::to_string(found) + "; prepare again");
    }

    void write_histogram() {
        all_.out << "  " << std::setw(12) << "tokens" << std::setw(10) << "sources" << std::setw(10)
                 << "targets" << '\n';
        for (std::size_t bin = 0; bin < LengthHistogram::bins; ++bin)
            if (source_[bin] + target_[bin] > 0)
                all_.out << "  " << std::setw(12) << LengthHistogram::label(bin) << std::setw(10)
                         << source_[bin] << std::setw(10) << target_[bin] << '\n';
    }

    void write_samples() {
        const auto rows = static_cast<std::int64_t>(split_.shards.front().rows);
        const std::int64_t wanted = std::min<std::int64_t>(all_.options.sample_rows, rows);
        ShardReader reader(all_.dataset.shard_path(split_.shards.front()), identity(0));
        for (std::int64_t i = 0; i < wanted; ++i) write_row(reader, i * rows / wanted);
    }

    void write_row(ShardReader& reader, std::int64_t local) {
        std::vector<RowExtent> extents;
        reader.append_extents(local, 1, extents);
        const RowExtent& extent = extents.front();
        std::vector<std::int32_t> tokens(static_cast<std::size_t>(extent.source + extent.label));
        reader.read_tokens(extent.first_token, tokens);
        const auto source = static_cast<std::size_t>(extent.source);
        const std::span<const std::int32_t> all(tokens);
        all_.out << "  row " << extent.row << '\n';
        if (source > 0) all_.out << "    source: " << decoded(all.first(source)) << '\n';
        all_.out << "    target: " << decoded(all.subspan(source)) << '\n';
        std::vector<LabelSpan> spans;
        if (extent.has_gaps()) reader.read_spans(extent, spans);
        for (const LabelSpan& span : spans)
            all_.out << "    label: "
                     << decoded(all.subspan(static_cast<std::size_t>(span.begin),
                                            static_cast<std::size_t>(span.end - span.begin)))
                     << '\n';
        for (const std::string& label : reader.read_references(local))
            all_.out << "    label as written: " << one_line(label) << '\n';
    }

    std::string decoded(std::span<const std::int32_t> ids) const {
        return one_line(all_.tokenizer.decode(ids));
    }

    const Inspection& all_;
    const SplitInfo& split_;
    LengthHistogram source_, target_;
    std::uint64_t source_tokens_ = 0, target_tokens_ = 0, label_tokens_ = 0;
    std::int64_t longest_source_ = 0, longest_target_ = 0;
};

void write_verdict(const Inspection& all) {
    const bool index_known = verify_index(all.dataset) == Verification::same;
    std::size_t shards = 0, unknown = index_known ? 0 : 1;
    for (const SplitInfo& split : all.dataset.info().splits) {
        for (const ShardInfo& shard : split.shards) {
            ++shards;
            unknown += shard.xxh3.empty() ? 1 : 0;
        }
    }
    all.out << '\n' << printable(all.options.data) << ": ";
    if (unknown == 0)
        all.out << "intact: index.h5 and " << counted(shards, "shard")
                << " have the hashes in dataset.json\n";
    else
        all.out << "all rows can be read, but dataset.json has no hash of " << unknown << " of "
                << shards + 1 << " files, so that changed values would not be noticed in them\n";
}

void inspect_all(const InspectOptions& options, std::ostream& out) {
    const Dataset dataset = Dataset::open(options.data);
    const auto tokenizer = tokenizer_of(dataset);
    out << printable(options.data) << ": " << name(dataset.kind()) << ", tokenizer "
        << tokenizer->name() << " of " << tokenizer->size() << " tokens, hash "
        << dataset.dictionary_hash() << '\n';
    const Inspection all{dataset, *tokenizer, options, out};
    for (const SplitInfo& split : dataset.info().splits) SplitInspection(all, split).write();
    if (options.shards == InspectOptions::Shards::verify) write_verdict(all);
}

// A file that the system cannot read may be sound; one that is gone is not.
bool is_damage(const Error& error) {
    const auto* system = dynamic_cast<const SystemFailure*>(&error);
    return error.kind() == ErrorKind::data || (system != nullptr && system->code() == ENOENT);
}

// Looks at each shard and at the index, and adds a line for each that is not as it was written.
void look_at_files(const Dataset& dataset, std::vector<std::string>& found) {
    const auto look = [&](const auto& check) {
        try {
            check();
        } catch (const Error& error) {
            found.push_back((is_damage(error) ? "damaged: " : "not read: ") +
                            std::string(error.what()));
        }
    };
    for (const SplitInfo& split : dataset.info().splits)
        for (std::size_t shard = 0; shard < split.shards.size(); ++shard)
            look([&] { read_shard(dataset, split, shard, Clock::time_point::max()); });
    look([&] { verify_index(dataset); });
}

// Tells whether one of the lines is about the file that `problem` begins with.
bool names_file_of(const std::vector<std::string>& lines, const std::string& problem) {
    const std::string file = problem.substr(0, problem.find(": ") + 1);
    return std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(file) != std::string::npos; });
}

// Writes the verdict last, where a reader of many lines looks for it: a line for each file that is
// not whole, and one for `first`, the damage that was met first, if that is elsewhere.
void write_damage(const InspectOptions& options, const std::string& first, std::ostream& out) {
    std::vector<std::string> found;
    std::exception_ptr no_memory;
    try {
        look_at_files(Dataset::open(options.data), found);
    } catch (const Error&) {  // dataset.json is not whole, which is what `first` says
    } catch (const std::bad_alloc&) {
        no_memory = std::current_exception();
    }
    if (!names_file_of(found, first)) found.insert(found.begin(), "damaged: " + first);
    out << '\n';
    for (const std::string& what : found) out << printable(options.data) << ": " << what << '\n';
    if (no_memory) std::rethrow_exception(no_memory);
}

}  // namespace

Inspected inspect(const InspectOptions& options, std::ostream& out) {
    try {
        inspect_all(options, out);
        return Inspected::good;
    } catch (const Error& error) {
        if (options.shards != InspectOptions::Shards::verify || !is_damage(error)) throw;
        write_damage(options, error.what(), out);
        return Inspected::damaged;
    }
}

}  // namespace lockstep::data
