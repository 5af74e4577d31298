// SPDX-License-Identifier: Apache-2.0
#include "data/patterns/pcre2_pattern.hpp"

#include <pcre2.h>

#include <cstdint>
#include <new>

#include "data/patterns/regex_translation.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {
namespace {

// What one search may take. A repeated group counts once for each of its turns, so that a run of
// some megabytes passes; a hostile pattern ends within seconds.
constexpr std::uint32_t max_steps = 10'000'000;
constexpr std::uint32_t max_heap_kib = 256 * 1024;
constexpr std::size_t jit_stack_bytes = 64 * 1024, max_jit_stack_bytes = std::size_t{64} << 20;

std::string message_of(int code) {
    PCRE2_UCHAR text[256] = {};
    pcre2_get_error_message(code, text, sizeof text);
    return reinterpret_cast<const char*>(text);
}

template <class T>
T* allocated(T* made) {
    if (!made) throw std::bad_alloc();
    return made;
}

struct Freed {
    void operator()(pcre2_code* code) const noexcept { pcre2_code_free(code); }
    void operator()(pcre2_compile_context* c) const noexcept { pcre2_compile_context_free(c); }
    void operator()(pcre2_match_context* c) const noexcept { pcre2_match_context_free(c); }
    void operator()(pcre2_match_data* data) const noexcept { pcre2_match_data_free(data); }
    void operator()(pcre2_jit_stack* stack) const noexcept { pcre2_jit_stack_free(stack); }
};
template <class T>
using Owned = std::unique_ptr<T, Freed>;

Owned<pcre2_code> compile(const std::string& regex) {
    const std::string translated = pcre2_regex(regex);
    const Owned<pcre2_compile_context> context(allocated(pcre2_compile_context_create(nullptr)));
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    int error = 0;
    std::size_t place = 0;
    Owned<pcre2_code> code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()),
                                         translated.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE,
                                         &error, &place, context.get()));
    if (!code)
        throw Error(ErrorKind::data, "PCRE2 refuses the regular expression \"" + regex + "\": " +
                                         message_of(error) + "; write it so that PCRE2 takes it");
    // Where the processor or the system does not allow it, the interpreter does the same.
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
    return code;
}

class Pcre2Pattern : public SplitPattern {
public:
    explicit Pcre2Pattern(const std::string& regex)
        : code_(compile(regex)), limits_(allocated(pcre2_match_context_create(nullptr))) {
        pcre2_set_match_limit(limits_.get(), max_steps);
        pcre2_set_heap_limit(limits_.get(), max_heap_kib);
    }

    PatternMatch next(std::string_view text, std::size_t from) const override {
        const Owned<pcre2_match_data> found(allocated(pcre2_match_data_create(1, nullptr)));
        int result = match(text, from, *found, *limits_);
        if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = match_deeply(text, from, *found);
        constexpr std::size_t none = std::string_view::npos;
        if (result == PCRE2_ERROR_NOMATCH) return {none, none};
        if (result < 0) refuse(result, from);
        const std::size_t* ends = pcre2_get_ovector_pointer(found.get());
        return {ends[0], ends[1]};
    }

private:
    int match(std::string_view text, std::size_t from, pcre2_match_data& found,
              pcre2_match_context& context) const {
        return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                           from, PCRE2_NO_UTF_CHECK, &found, &context);
    }

    // Again with a stack of its own: the 32 KiB of the thread's stack do for nearly all matches.
    int match_deeply(std::string_view text, std::size_t from, pcre2_match_data& found) const {
        const Owned<pcre2_jit_stack> stack(
            allocated(pcre2_jit_stack_create(jit_stack_bytes, max_jit_stack_bytes, nullptr)));
        const Owned<pcre2_match_context> context(
            allocated(pcre2_match_context_copy(limits_.get())));
        pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
        return match(text, from, found, *context);
    }

    [[noreturn]] static void refuse(int result, std::size_t from) {
        throw Error(ErrorKind::data,
                    "the regular expression of the tokenizer gives up at byte " +
                        std::to_string(from) + " of a text: " + message_of(result) +
                        "; use a pattern that does not try so many ways, or shorter texts");
    }

    Owned<pcre2_code> code_;
    Owned<pcre2_match_context> limits_;
};

}  // namespace

std::unique_ptr<SplitPattern> make_pcre2_pattern(const std::string& regex) {
    return std::make_unique<Pcre2Pattern>(regex);
}

}  // namespace lockstep::data
