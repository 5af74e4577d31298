// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data::jinja {

// Marks of bytes. from_data: the byte comes from the data and not from the template. generation: a
// {% generation %} block wrote it.
enum Mark : unsigned { unmarked = 0, from_data = 1, generation = 2 };

// Consecutive bytes with the same marks.
struct Run {
    std::size_t begin = 0, end = 0;
    unsigned marks = unmarked;
};

// UTF-8 whose bytes know where they come from.
class Text {
public:
    Text() = default;
    explicit Text(std::string bytes, unsigned marks = unmarked);

    const std::string& bytes() const noexcept { return bytes_; }
    std::size_t size() const noexcept { return bytes_.size(); }
    bool empty() const noexcept { return bytes_.empty(); }
    // In order; bytes without marks are in none.
    const std::vector<Run>& runs() const noexcept { return runs_; }
    unsigned marks_at(std::size_t offset) const noexcept;

    void append(std::string_view bytes, unsigned marks = unmarked);
    void append(const Text& other) { append(other, 0, other.size()); }
    void append(const Text& other, std::size_t begin, std::size_t end);
    Text part(std::size_t begin, std::size_t end) const;
    // Adds marks to all bytes from `begin` on.
    void mark(std::size_t begin, unsigned marks);

private:
    void add_run(const Run& run);
    std::size_t first_run_behind(std::size_t offset) const noexcept;

    std::string bytes_;
    std::vector<Run> runs_;
};

}  // namespace lockstep::data::jinja
