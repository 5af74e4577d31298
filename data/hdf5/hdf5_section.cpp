// SPDX-License-Identifier: Apache-2.0
#include "data/hdf5/hdf5_section.hpp"

#include <new>
#include <string_view>

namespace lockstep::data {
namespace {

// The library has one state per process, so its lock is also one per process.
std::mutex& library_mutex() {
    // A file whose last write failed stays in the library's tables after it is closed, and the
    // library's cleanup at exit would crash on it. All our objects are closed explicitly, so
    // nothing is lost.
    static const herr_t no_tidying_at_exit = H5dont_atexit();
    static_cast<void>(no_tidying_at_exit);
    static std::mutex mutex;
    return mutex;
}

// Extracts the system's own message: the library's text about a system error has several lines
// around it.
std::string essence(const std::string& text) {
    constexpr std::string_view key = "error message = '";
    const std::size_t at = text.find(key);
    if (at == std::string::npos) return text.substr(0, text.find('\n'));
    const std::size_t begin = at + key.size();
    return text.substr(begin, text.find('\'', begin) - begin);
}

herr_t keep_first(unsigned, const H5E_error2_t* error, void* out) {
    *static_cast<std::string*>(out) = error->desc != nullptr ? error->desc : "";
    return 1;  // stops the walk: the first error of an upward walk is the cause
}

herr_t note_allocation(unsigned, const H5E_error2_t* error, void* lacked) {
    const bool allocation = error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC;
    // Where the library gets no memory for a property, it may go on without that property.
    const bool lost = error->maj_num == H5E_PLIST && error->min_num == H5E_NOTFOUND;
    *static_cast<bool*>(lacked) |= allocation || lost;
    return 0;
}

// The library calls this after each call of it that failed, before the next one clears the errors.
herr_t note_failure(hid_t errors, void* lacked) {
    return H5Ewalk2(errors, H5E_WALK_UPWARD, note_allocation, lacked);
}

}  // namespace

void close_keeping_reason(hid_t raw, herr_t (*close)(hid_t)) noexcept {
    const bool failed = H5Eget_num(H5E_DEFAULT) > 0;
    const hid_t reason = failed ? H5Eget_current_stack() : H5I_INVALID_HID;
    close(raw);
    if (failed) H5Eset_current_stack(reason);
}

Hdf5Section::Hdf5Section() : lock_(library_mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &printer_, &printer_data_);
    H5Eset_auto2(H5E_DEFAULT, note_failure, &lacked_memory_);
}

Hdf5Section::~Hdf5Section() { H5Eset_auto2(H5E_DEFAULT, printer_, printer_data_); }

std::string Hdf5Section::reason() const {
    std::string text;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
    return text.empty() ? "no reason given" : essence(text);
}

void Hdf5Section::require_memory() const {
    if (lacked_memory_) throw std::bad_alloc();
}

}  // namespace lockstep::data
