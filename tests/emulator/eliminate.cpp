// The kernels of elimination, each called on the host by the addresses of its arguments.
#include "on_host.h"
#include "count/eliminate.cu"
#include "count/rooted_forest.cu"
#include "count/row_products.cu"
#include "count/masked_product.cu"
#include "count/cliques.cu"
#include "count/triangle_weight_sums.cu"
#include "count/eliminate_neighbours.cu"
#include "count/symmetric_links.cu"
#include "count/triangle_counts.cu"
#include "count/closed_walks.cu"

QE_ON_HOST(eliminate_message)
QE_ON_HOST(eliminate_join)
QE_ON_HOST(eliminate_lengths)
QE_ON_HOST(eliminate_product)
QE_ON_HOST(eliminate_ones)
QE_ON_HOST(eliminate_add)
QE_ON_HOST(eliminate_sums)
QE_ON_HOST(eliminate_term)
QE_ON_HOST(eliminate_counts)
QE_ON_HOST(eliminate_present)
QE_ON_HOST(eliminate_gather)
QE_ON_HOST(rooted_forest)
QE_ON_HOST(masked_forest)
QE_ON_HOST(eliminate_owners)
QE_ON_HOST(cliques_light)
QE_ON_HOST(cliques_heavy)
QE_ON_HOST(cliques_global)
QE_ON_HOST(eliminate_bit_rows)
QE_ON_HOST(masked_product)
QE_ON_HOST(eliminate_turned)
QE_ON_HOST(eliminate_triangle_sums)
QE_ON_HOST(eliminate_mirror)
QE_ON_HOST(triangle_roots)
QE_ON_HOST(triangle_rows)
QE_ON_HOST(triangles_of_vertices_light)
QE_ON_HOST(triangles_of_vertices_heavy)
QE_ON_HOST(triangles_of_pairs_light)
QE_ON_HOST(triangles_of_pairs_heavy)
QE_ON_HOST(triangle_link_places)
QE_ON_HOST(triangles_of_links_light)
QE_ON_HOST(triangles_of_links_heavy)
QE_ON_HOST(triangle_corners)
QE_ON_HOST(neighbours_count_few)
QE_ON_HOST(neighbours_count_many)
QE_ON_HOST(neighbours_fill_few)
QE_ON_HOST(neighbours_fill_many)
QE_ON_HOST(pair_ends)
QE_ON_HOST(pair_rows)
QE_ON_HOST(row_products_light)
QE_ON_HOST(row_products_heavy)
QE_ON_HOST(links_sizes)
QE_ON_HOST(links_light)
QE_ON_HOST(links_heavy)
QE_ON_HOST(link_squares)
QE_ON_HOST(vector_weights)
QE_ON_HOST(triangle_ends)
QE_ON_HOST(triangle_sides)
QE_ON_HOST(walks_strip)
QE_ON_HOST(walks_marks)
QE_ON_HOST(walks_reach)
QE_ON_HOST(walks_sums)
QE_ON_HOST(walks_light)
QE_ON_HOST(walks_heavy)
