// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/safetensors_header.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/train/checkpoint/transformers_names.hpp"

namespace lockstep::train {

namespace {

// This is the format's own limit. A larger length means that the file is damaged.
constexpr std::uint64_t largest_header_bytes = 100'000'000;

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
        if (is_buffer(tensor_name)) {
            for (const auto& [other, same_size] : buffer_types)
                if (dtype == other) return same_size;
        }
        for (const Dtype known : {Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::u64, Dtype::byte}) {
            if (dtype == name(known)) return known;
        }
        const std::string text = dtype.is_string() ? dtype.get<std::string>() : dump_json(dtype);
        throw Error(ErrorKind::data, path_ + ": tensor " + shown(tensor_name) + " has dtype " +
                                         shown(text) + "; convert it to F32, BF16 or F16 first");
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

    // Buffers are not read, so only their size counts.
    static constexpr std::array<std::pair<const char*, Dtype>, 5> buffer_types{
        {{"BOOL", Dtype::byte},
         {"I8", Dtype::byte},
         {"I32", Dtype::fp32},
         {"I64", Dtype::u64},
         {"F64", Dtype::u64}}};

    const std::string& path_;
    std::uint64_t data_begin_, data_bytes_;
};

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

void refuse_file(const std::string& path, const std::string& what) {
    throw Error(ErrorKind::data, path + ": not a good safetensors file: " + what +
                                     "; write it again or choose another");
}

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

OpenedSafetensors open_safetensors(const std::string& path) {
    OpenedSafetensors opened;
    opened.part.path = path;
    FileDescriptor& file = opened.part.file;
    std::error_code failure;
    // Opening a pipe would wait for a writer.
    if (std::filesystem::is_other(path, failure)) refuse_file(path, "it is not a regular file");
    const std::uint64_t file_bytes = std::filesystem::file_size(path, failure);
    errno = failure.value();
    if (!failure) file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (failure || !file) throw_errno("cannot be read; check the path", path);

    const std::string text = read_header(file, path, file_bytes);
    const std::uint64_t data_begin = sizeof(std::uint64_t) + text.size();
    const std::string excess = json_excess(text);
    if (!excess.empty()) refuse_file(path, "its header is too large: " + excess);
    const nlohmann::json header = try_parse_json(text);
    if (!header.is_object()) refuse_file(path, "its header is not a JSON object");

    const HeaderParser parser(path, data_begin, file_bytes);
    for (const auto& [key, entry] : header.items()) {
        if (key == "__metadata__") {
            opened.metadata = parser.metadata(entry);
        } else {
            opened.tensors.push_back(parser.tensor(key, entry));
        }
    }
    std::ranges::sort(opened.tensors, {}, [](const TensorInfo& t) {
        return std::pair(t.offset, t.count);  // an empty tensor comes before its neighbour
    });
    check_layout(path, opened.tensors, data_begin, file_bytes);
    opened.part.data_begin = data_begin;
    opened.part.bytes = file_bytes;
    return opened;
}

}  // namespace lockstep::train
