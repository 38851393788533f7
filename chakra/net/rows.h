// The functions of the shapes in kShapes. Each pair has a separate source file.
#pragma once

#include "chakra/net/shapes.h"

namespace chakra::net {

using SizeOf = ShapeSize(ShapeNumbers);
using BuildOf = void(ShapeNumbers, ShapeBuilder&);
SizeOf fat_tree_size, dragonfly_size, rails_size;
BuildOf build_fat_tree, build_dragonfly, build_rails;

}  // namespace chakra::net
