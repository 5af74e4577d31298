// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep {

// Returns the path behind the links that `path` names; nothing need be there. Throws an io error
// for a link that another user made, unless that is the superuser: whoever may write into a folder
// could otherwise have any file of this user overwritten. The folders above are not looked at.
std::string followed_path(const std::string& path);

// Returns the path of a folder, which need not be there, so that it ends with the folder's name:
// without slashes and "." at its end, and with ".." resolved.
std::string named_folder(const std::string& path);

}  // namespace lockstep
