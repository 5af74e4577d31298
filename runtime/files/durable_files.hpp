// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep {

// Returns when the file's content is on disk. Throws SystemFailure.
void sync_file(const std::string& path);

// Returns when the names in the folder are on disk. Throws SystemFailure. File systems that cannot
// sync a folder keep names in order themselves; there it does nothing.
void sync_folder(const std::string& path);

// Makes the folder and those above it; existing ones stay as they are. The new names are on disk
// when it returns. Throws SystemFailure.
void make_folders(const std::string& path);

// Gives the folder `from` the name `to` and returns when that is on disk. An older folder of that
// name is called `from` afterwards. The two are exchanged at once, so that there is always a folder
// called `to`; on a file system that cannot do that there is none for a moment. Throws
// SystemFailure; the older folder then keeps its name, unless only the last sync failed.
void put_folder(const std::string& from, const std::string& to);

enum class Placed { yes, name_is_taken };
// Does the same, unless a folder of that name has something in it or a file has the name: then
// nothing changes. An empty folder of that name is replaced. Nobody else can take the name between
// the look and the rename.
Placed put_new_folder(const std::string& from, const std::string& to);

// Returns the name that the older folder has for a moment on a file system that cannot exchange.
std::string name_aside(const std::string& from);

}  // namespace lockstep
