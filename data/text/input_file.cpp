// SPDX-License-Identifier: Apache-2.0
#include "data/text/input_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "data/text/git_lfs.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/unique_handle.hpp"

namespace lockstep::data {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 18;
constexpr int gzip_window_bits = 15 + 16;  // zlib's code for the gzip format only
constexpr unsigned char gzip_mark[] = {0x1F, 0x8B};

struct FileTraits {
    using Raw = std::FILE*;
    static Raw null() noexcept { return nullptr; }
    static void destroy(Raw raw) noexcept { std::fclose(raw); }
};

}  // namespace

// Decompresses gzip member by member. zlib's own file functions silently ignore any data that
// follows a compressed member; this class detects it.
class InputFile::Source {
public:
    explicit Source(const std::string& path)
        : path_(path), file_(std::fopen(path.c_str(), "rbe")), buffer_(buffer_bytes) {
        if (!file_) throw_errno("cannot read", path_);
        fill();
        refuse_lfs_pointer(path_, {reinterpret_cast<const char*>(buffer_.data()), left_});
        if (begins_part()) begin_part();
    }
    ~Source() { ::inflateEnd(&stream_); }
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    std::size_t read(char* out, std::size_t bytes, std::string& damage) {
        std::size_t done = 0;
        while (done < bytes && damage.empty() && (left_ > 0 || fill() || in_part_)) {
            const std::size_t more = compressed_ ? inflate(out + done, bytes - done, damage)
                                                 : copy(out + done, bytes - done);
            done += more;
        }
        return done;
    }

    std::uint64_t position() const noexcept { return read_ - left_; }

private:
    // Appends data from the file to the rest of the buffer. Returns false at the end of the file.
    bool fill() {
        std::memmove(buffer_.data(), buffer_.data() + at_, left_);
        at_ = 0;
        const std::size_t got =
            std::fread(buffer_.data() + left_, 1, buffer_.size() - left_, file_.raw());
        if (std::ferror(file_.raw()) != 0) throw_errno("cannot read", path_);
        left_ += got;
        read_ += got;
        return got > 0;
    }
    void use(std::size_t bytes) noexcept {
        at_ += bytes;
        left_ -= bytes;
    }
    bool begins_part() {
        if (left_ < sizeof gzip_mark) fill();
        return left_ >= sizeof gzip_mark &&
               std::memcmp(buffer_.data() + at_, gzip_mark, sizeof gzip_mark) == 0;
    }
    void begin_part() {
        ::inflateEnd(&stream_);
        stream_ = {};
        if (::inflateInit2(&stream_, gzip_window_bits) != Z_OK)
            throw Error(ErrorKind::io, path_ + ": no memory to read gzip data");
        compressed_ = in_part_ = true;
    }

    std::size_t copy(char* out, std::size_t bytes) {
        const std::size_t count = std::min(bytes, left_);
        std::memcpy(out, buffer_.data() + at_, count);
        use(count);
        return count;
    }

    std::size_t inflate(char* out, std::size_t bytes, std::string& damage) {
        if (!in_part_) {
            next_part(damage);
            return 0;
        }
        const auto room = static_cast<uInt>(std::min(bytes, buffer_bytes));
        stream_.next_in = buffer_.data() + at_;
        stream_.avail_in = static_cast<uInt>(left_);
        stream_.next_out = reinterpret_cast<Bytef*>(out);
        stream_.avail_out = room;
        const int result = ::inflate(&stream_, Z_NO_FLUSH);
        use(left_ - stream_.avail_in);
        const std::size_t made = room - stream_.avail_out;
        if (result == Z_STREAM_END)
            in_part_ = false;
        else if (result == Z_BUF_ERROR || (result == Z_OK && made == 0 && left_ == 0))
            require_more(damage);
        else if (result != Z_OK)
            damage = "the gzip data is damaged (" +
                     std::string(stream_.msg != nullptr ? stream_.msg : "unknown") +
                     "); copy the file again";
        return made;
    }
    void require_more(std::string& damage) {
        if (left_ == 0 && !fill()) damage = "the gzip data is cut off; copy the file again";
    }
    void next_part(std::string& damage) {
        while (left_ > 0 && buffer_[at_] == 0) use(1);
        if (left_ == 0) return;
        if (begins_part())
            begin_part();
        else
            damage =
                "something that is not gzip follows the compressed data; compress the whole "
                "text anew";
    }

    std::string path_;
    UniqueHandle<FileTraits> file_;
    std::vector<unsigned char> buffer_;
    std::size_t at_ = 0, left_ = 0;  // offset and number of unused bytes in the buffer
    std::uint64_t read_ = 0;
    z_stream stream_{};
    bool compressed_ = false, in_part_ = false;
};

InputFile::InputFile() noexcept = default;
InputFile::InputFile(const std::string& path) : source_(std::make_unique<Source>(path)) {}
InputFile::~InputFile() = default;
InputFile::InputFile(InputFile&&) noexcept = default;
InputFile& InputFile::operator=(InputFile&&) noexcept = default;

std::size_t InputFile::read(char* out, std::size_t bytes, std::string& damage) {
    return source_->read(out, bytes, damage);
}
std::uint64_t InputFile::position() const { return source_->position(); }

}  // namespace lockstep::data
