// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>

#include "runtime/core/unique_handle.hpp"

namespace lockstep::data {

// Serialises calls of the HDF5 library. Two threads must not call it at once, not even for two
// files: every call, including closing, must be made inside a section. Inside a section the library
// prints nothing.
class Hdf5Section {
public:
    Hdf5Section();
    ~Hdf5Section();
    Hdf5Section(const Hdf5Section&) = delete;
    Hdf5Section& operator=(const Hdf5Section&) = delete;

    // Returns the library's message about the last failed call; closing what was opened keeps it.
    std::string reason() const;
    // Throws std::bad_alloc if a call within this section has failed because of a lack of memory:
    // then nothing that failed since says anything about the file.
    void require_memory() const;

private:
    std::unique_lock<std::mutex> lock_;
    H5E_auto2_t printer_ = nullptr;
    void* printer_data_ = nullptr;
    mutable bool lacked_memory_ = false;  // the library sets it, also in a const section
};

// Calls `close`, which would clear what the library knows about the last failed call, and keeps
// that.
void close_keeping_reason(hid_t raw, herr_t (*close)(hid_t)) noexcept;

template <herr_t (*close)(hid_t)>
struct Hdf5Traits {
    using Raw = hid_t;
    static constexpr Raw null() noexcept { return H5I_INVALID_HID; }
    static void destroy(Raw raw) noexcept { close_keeping_reason(raw, close); }
};

using Hdf5File = UniqueHandle<Hdf5Traits<H5Fclose>>;
using Hdf5Group = UniqueHandle<Hdf5Traits<H5Gclose>>;
using Hdf5Dataset = UniqueHandle<Hdf5Traits<H5Dclose>>;
using Hdf5Space = UniqueHandle<Hdf5Traits<H5Sclose>>;
using Hdf5Properties = UniqueHandle<Hdf5Traits<H5Pclose>>;
using Hdf5Attribute = UniqueHandle<Hdf5Traits<H5Aclose>>;
using Hdf5Type = UniqueHandle<Hdf5Traits<H5Tclose>>;

}  // namespace lockstep::data
