// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/train/checkpoint/gpt2_names.hpp"
#include "runtime/train/checkpoint/safetensors.hpp"

namespace lockstep::train {
namespace {

// This is the format's own limit. A larger length means that the file is damaged.
constexpr std::uint64_t largest_header_bytes = 100'000'000;

[[noreturn]] void refuse_file(const std::string& path, const std::string& what) {
    throw Error(ErrorKind::data, path + ": not a good safetensors file: " + what +
                                     "; write it again or choose another");
}

// Reads one file's header. Every message names the file and, if possible, the tensor.
class HeaderParser {
public:
    HeaderParser(const std::string& path, std::uint64_t data_begin, std::uint64_t file_bytes)
        : path_(path), data_begin_(data_begin), data_bytes_(file_bytes - data_begin) {}

    Metadata metadata(const nlohmann::json& entries) const {
        Metadata metadata;
        if (!entries.is_object()) refuse_file(path_, "__metadata__ is not an object");
        for (const auto& [key, value] : entries.items()) {
            if (!value.is_string()) refuse_file(path_, "metadata " + shown(key) + " is not text");
            metadata[key] = value.get<std::string>();
        }
        return metadata;
    }

    TensorInfo tensor(const std::string& tensor_name, const nlohmann::json& entry) const {
        const auto bad = [&](const std::string& what) {
            refuse_file(path_, "tensor " + shown(tensor_name) + " " + what);
        };
        if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
            !entry.contains("data_offsets")) {
            bad("lacks dtype, shape or data_offsets");
        }
        TensorInfo info;
        info.name = tensor_name;
        info.type = type(tensor_name, entry["dtype"]);
        const std::vector<std::uint64_t> shape = numbers(entry["shape"]);
        const std::vector<std::uint64_t> range = numbers(entry["data_offsets"]);
        if (!entry["shape"].is_array() || shape.size() != entry["shape"].size()) {
            bad("has a shape that is not a list of counts");
        }
        if (range.size() != 2 || range[0] > range[1] || range[1] > data_bytes_) {
            bad("lies beyond the end of the file, which may be truncated");
        }
        info.count = 1;
        for (const std::uint64_t extent : shape) {
            if (extent > 0 && info.count > data_bytes_ / extent) bad("is larger than the file");
            info.count *= extent;
            info.shape.push_back(static_cast<std::int64_t>(extent));
        }
        if (info.count > data_bytes_ / bytes_of(info.type) ||
            info.count * bytes_of(info.type) != range[1] - range[0]) {
            bad("of shape " + shown(shape_text(info.shape)) +
                " does not fill its place in the file");
        }
        info.offset = data_begin_ + range[0];
        return info;
    }

private:
    Dtype type(const std::string& tensor_name, const nlohmann::json& dtype) const {
        if (is_gpt2_mask(tensor_name)) {
            for (const auto& [other, same_size] : mask_types)
                if (dtype == other) return same_size;
        }
        for (const Dtype known : {Dtype::fp32, Dtype::bf16, Dtype::u64, Dtype::byte}) {
            if (dtype == name(known)) return known;
        }
        const std::string text = dtype.is_string() ? dtype.get<std::string>() : dump_json(dtype);
        throw Error(ErrorKind::data, path_ + ": tensor " + shown(tensor_name) + " has dtype " +
                                         shown(text) + "; convert it to F32 or BF16 first");
    }

    // Reads counts and stops at the first entry that is not a count of at most 2^63 - 1.
    static std::vector<std::uint64_t> numbers(const nlohmann::json& list) {
        std::vector<std::uint64_t> values;
        for (const nlohmann::json& value : list) {
            if (!value.is_number_unsigned()) break;
            values.push_back(value.get<std::uint64_t>());
            if (values.back() > std::numeric_limits<std::int64_t>::max()) {
                values.pop_back();
                break;
            }
        }
        return values;
    }

    // Masks are not read, so only their size counts.
    static constexpr std::array<std::pair<const char*, Dtype>, 3> mask_types{
        {{"BOOL", Dtype::byte}, {"F16", Dtype::bf16}, {"I64", Dtype::u64}}};

    const std::string& path_;
    std::uint64_t data_begin_, data_bytes_;
};

// Reads `bytes` from `offset`. Only an early end of the file is damage; another failure is the
// system's and says nothing about the file.
void read_at(const FileDescriptor& file, const std::string& path, const std::string& part,
             std::uint64_t offset, void* to, std::size_t bytes) {
    // A watchdog sees bytes only when a system call returns.
    constexpr std::size_t block_bytes = std::size_t{8} << 20;
    auto* out = static_cast<std::byte*>(to);
    while (bytes > 0) {
        const ssize_t got =
            ::pread(file.raw(), out, std::min(bytes, block_bytes), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw_errno("its " + part + " cannot be read", path);
        if (got == 0) refuse_file(path, "it ends within its " + part);
        out += got;
        offset += static_cast<std::uint64_t>(got);
        bytes -= static_cast<std::size_t>(got);
    }
}

std::string read_header(const FileDescriptor& file, const std::string& path,
                        std::uint64_t file_bytes) {
    std::uint64_t length = 0;
    if (file_bytes < sizeof length) refuse_file(path, "it is shorter than a header");
    read_at(file, path, "header", 0, &length, sizeof length);
    if (length > largest_header_bytes || length > file_bytes - sizeof length) {
        refuse_file(path, "its header claims " + std::to_string(length) + " bytes of the file's " +
                              std::to_string(file_bytes));
    }
    std::string text(length, '\0');
    read_at(file, path, "header", sizeof length, text.data(), text.size());
    return text;
}

// Checks that the tensors follow one another without gaps or overlaps and fill the file; otherwise
// the file was cut or altered.
void check_layout(const std::string& path, const std::vector<TensorInfo>& tensors,
                  std::uint64_t data_begin, std::uint64_t file_bytes) {
    std::uint64_t expected = data_begin;
    for (const TensorInfo& tensor : tensors) {
        if (tensor.offset != expected)
            refuse_file(path, "tensor " + shown(tensor.name) + " overlaps or gaps");
        expected += tensor.count * bytes_of(tensor.type);
    }
    if (expected != file_bytes) {
        refuse_file(path, "it has " + std::to_string(file_bytes) + " bytes, its header describes " +
                              std::to_string(expected));
    }
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::string path) : path_(std::move(path)) {
    std::error_code failure;
    // Opening a pipe would wait for a writer.
    if (std::filesystem::is_other(path_, failure)) refuse_file(path_, "it is not a regular file");
    const std::uint64_t file_bytes = std::filesystem::file_size(path_, failure);
    errno = failure.value();
    if (!failure) file_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (failure || !file_) throw_errno("cannot be read; check the path", path_);

    const std::string text = read_header(file_, path_, file_bytes);
    const std::uint64_t data_begin = sizeof(std::uint64_t) + text.size();
    const std::string excess = json_excess(text);
    if (!excess.empty()) refuse_file(path_, "its header is too large: " + excess);
    const nlohmann::json header = try_parse_json(text);
    if (!header.is_object()) refuse_file(path_, "its header is not a JSON object");

    const HeaderParser parser(path_, data_begin, file_bytes);
    for (const auto& [key, entry] : header.items()) {
        if (key == "__metadata__") {
            metadata_ = parser.metadata(entry);
        } else {
            tensors_.push_back(parser.tensor(key, entry));
        }
    }
    std::ranges::sort(tensors_, {}, [](const TensorInfo& t) {
        return std::pair(t.offset, t.count);  // an empty tensor comes before its neighbour
    });
    check_layout(path_, tensors_, data_begin, file_bytes);
    data_begin_ = data_begin;
    file_bytes_ = file_bytes;
    if (std::ranges::any_of(tensors_, is_gpt2_table, &TensorInfo::name)) take_gpt2();
}

void SafetensorsFile::take_gpt2() {
    std::erase_if(tensors_, [](const TensorInfo& t) { return is_gpt2_mask(t.name); });
    const auto head = std::ranges::find(tensors_, gpt2_head, &TensorInfo::name);
    if (head != tensors_.end()) {
        copies_.push_back(*head);
        tensors_.erase(head);
    }
    for (TensorInfo& tensor : tensors_) {
        const auto known = of_gpt2(tensor.name);
        if (!known) continue;
        tensor.name = known->name;
        tensor.turned = known->turned && tensor.shape.size() == 2;
        if (tensor.turned) std::swap(tensor.shape[0], tensor.shape[1]);
    }
    std::set<std::string_view> names;
    for (const TensorInfo& tensor : tensors_)
        if (!names.insert(tensor.name).second)
            throw Error(ErrorKind::config,
                        path_ + ": holds " + tensor.name +
                            " twice, with and without \"transformer.\" in its name; save the model "
                            "again");
}

// The two are one matrix here. A model whose head differs from its table is another kind.
void SafetensorsFile::require_equal(const TensorInfo& head, const TensorInfo& table) const {
    const auto differ = [&] {
        throw Error(ErrorKind::config, path_ + ": " + head.name +
                                           " differs from the table of embeddings, but gpt2 has "
                                           "one matrix for both; choose another model");
    };
    if (head.type != table.type || head.shape != table.shape) differ();
    const std::size_t bytes = head.count * bytes_of(head.type);
    std::vector<std::byte> a(std::size_t{1} << 20), b(a.size());
    for (std::size_t at = 0; at < bytes; at += a.size()) {
        const std::size_t some = std::min(a.size(), bytes - at);
        read_bytes(head, at, a.data(), some);
        read_bytes(table, at, b.data(), some);
        if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(some), b.begin()))
            differ();
    }
}

void SafetensorsFile::verify() const {
    for (const TensorInfo& head : copies_)
        if (const TensorInfo* table = find("embeddings.weight")) require_equal(head, *table);
    const auto expected = metadata_.find(checksum_key);
    if (expected == metadata_.end()) return;
    std::vector<std::byte> block(std::size_t{1} << 20);
    StreamHash hash;
    for (std::uint64_t at = data_begin_; at < file_bytes_; at += block.size()) {
        const auto bytes =
            static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), file_bytes_ - at));
        read_at(file_, path_, "tensors", at, block.data(), bytes);
        hash.add(block.data(), bytes);
    }
    if (hex(hash.value()) == expected->second) return;
    throw Error(ErrorKind::data,
                path_ +
                    ": is damaged: its tensors do not have the checksum in its metadata; use a "
                    "checkpoint or a copy (a program that changes the tensors must leave out "
                    "the metadata \"" +
                    std::string(checksum_key) + "\")");
}

const TensorInfo* SafetensorsFile::find(std::string_view tensor_name) const noexcept {
    const auto found = std::ranges::find(tensors_, tensor_name, &TensorInfo::name);
    return found == tensors_.end() ? nullptr : &*found;
}

void SafetensorsFile::read(const TensorInfo& tensor, HostView<float> values) {
    require(values.size() == tensor.count, "a tensor is read whole");
    if (tensor.turned) return read_turned(tensor, 0, values);
    if (tensor.type == Dtype::bf16) {
        std::vector<lockstep::bf16> narrow(tensor.count);
        read(tensor, view_of(narrow));
        std::ranges::transform(narrow, values.begin(),
                               [](auto v) { return static_cast<float>(v); });
        return;
    }
    require(tensor.type == Dtype::fp32, "the tensor holds floats");
    read_bytes(tensor, 0, values.data(), values.size() * sizeof(float));
}

void SafetensorsFile::read_range(const TensorInfo& tensor, std::size_t first,
                                 HostView<float> values) {
    require(first <= tensor.count && values.size() <= tensor.count - first,
            "a range is inside of its tensor");
    if (tensor.turned) return read_turned(tensor, first, values);
    if (tensor.type == Dtype::bf16) {
        std::vector<lockstep::bf16> narrow(values.size());
        read_bytes(tensor, first * sizeof(lockstep::bf16), narrow.data(),
                   narrow.size() * sizeof(lockstep::bf16));
        std::ranges::transform(narrow, values.begin(),
                               [](auto v) { return static_cast<float>(v); });
        return;
    }
    require(tensor.type == Dtype::fp32, "the tensor holds floats");
    read_bytes(tensor, first * sizeof(float), values.data(), values.size() * sizeof(float));
}

void SafetensorsFile::read_range(const TensorInfo& tensor, std::size_t first,
                                 HostView<std::uint8_t> values) {
    require(first <= tensor.count && values.size() <= tensor.count - first,
            "a range is inside of its tensor");
    require(tensor.type == Dtype::byte, "the tensor holds bytes");
    read_bytes(tensor, first, values.data(), values.size());
}

void SafetensorsFile::read(const TensorInfo& tensor, HostView<lockstep::bf16> values) {
    require(values.size() == tensor.count, "a tensor is read whole");
    require(tensor.type == Dtype::bf16, "the tensor holds bf16");
    read_bytes(tensor, 0, values.data(), values.size() * sizeof(lockstep::bf16));
}

void SafetensorsFile::read(const TensorInfo& tensor, HostView<std::uint64_t> values) {
    require(values.size() == tensor.count, "a tensor is read whole");
    require(tensor.type == Dtype::u64, "the tensor holds u64");
    read_bytes(tensor, 0, values.data(), values.size() * sizeof(std::uint64_t));
}

// Neighbours of a range lie a row of the file apart, so that the whole tensor is read.
void SafetensorsFile::read_turned(TensorInfo tensor, std::size_t first, HostView<float> values) {
    const auto rows = static_cast<std::size_t>(tensor.shape[0]);
    const auto columns = static_cast<std::size_t>(tensor.shape[1]);
    tensor.turned = false;
    std::vector<float> stored(tensor.count);
    read(tensor, view_of(stored));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = stored[(first + i) % columns * rows + (first + i) / columns];
}

void SafetensorsFile::read_bytes(const TensorInfo& tensor, std::size_t from, void* to,
                                 std::size_t bytes) const {
    read_at(file_, path_, "tensor " + tensor.name, tensor.offset + from, to, bytes);
}

}  // namespace lockstep::train
