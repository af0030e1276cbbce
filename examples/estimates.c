/* An optimizer in C that takes cardinalities from qengine: Arrow's C stream interface, and nothing else, is between.
 *
 * examples/estimates_in_c.py compiles it and hands it the stream of an EstimateTable. The two structs are those of
 * https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct ArrowSchema **children, *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct ArrowArray **children, *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

enum { kMostNodes = 10, kName = 64 };

static char names[kMostNodes][kName];
static int known;
static double rows[1 << kMostNodes];

/* The number of a node's name, which is kept; -1 where there are too many. */
static int number_of(const char *text, int32_t length) {
  if (length >= kName) length = kName - 1;
  for (int k = 0; k < known; ++k)
    if (strncmp(names[k], text, length) == 0 && names[k][length] == 0) return k;
  if (known == kMostNodes) return -1;
  memcpy(names[known], text, length);
  names[known][length] = 0;
  return known++;
}

/* The place of a column of that name and format, -1 where there is none. */
static int64_t column(const struct ArrowSchema *schema, const char *name, const char *format) {
  for (int64_t k = 0; k < schema->n_children; ++k)
    if (strcmp(schema->children[k]->name, name) == 0 && strcmp(schema->children[k]->format, format) == 0) return k;
  return -1;
}

/* Takes the rows of each part from a batch: nodes, a list of strings, and value, a double. */
static int read_batch(const struct ArrowArray *batch, int64_t nodes_at, int64_t value_at) {
  const struct ArrowArray *nodes = batch->children[nodes_at], *values = batch->children[value_at];
  const struct ArrowArray *texts = nodes->children[0];
  const int32_t *lists = (const int32_t *)nodes->buffers[1] + nodes->offset;
  const int32_t *ends = (const int32_t *)texts->buffers[1] + texts->offset;
  const char *characters = (const char *)texts->buffers[2];
  const double *numbers = (const double *)values->buffers[1] + values->offset;
  for (int64_t row = 0; row < batch->length; ++row) {
    unsigned part = 0;
    for (int32_t k = lists[row]; k < lists[row + 1]; ++k) {
      const int number = number_of(characters + ends[k], ends[k + 1] - ends[k]);
      if (number < 0) return 1;
      part |= 1u << number;
    }
    rows[part] = numbers[row];
  }
  return 0;
}

/* Writes the order of nodes with the fewest intermediate rows, by dynamic programming over the parts that are known. */
static void cheapest_order(char *out, size_t size) {
  static double cost[1 << kMostNodes];
  static int last[1 << kMostNodes];
  const unsigned all = (1u << known) - 1;
  for (unsigned part = 1; part <= all; ++part) {
    cost[part] = INFINITY;
    if (rows[part] < 0) continue;
    for (int k = 0; k < known; ++k) {
      const unsigned before = part & ~(1u << k);
      if (before == part || (before && isinf(cost[before]))) continue;
      const double here = before ? cost[before] + rows[part] : 0.0;
      if (here < cost[part]) cost[part] = here, last[part] = k;
    }
  }
  char found[kMostNodes * (kName + 4)] = "";
  for (unsigned part = all; part; part &= ~(1u << last[part])) {
    char longer[sizeof found];
    snprintf(longer, sizeof longer, "%s%s%s", names[last[part]], *found ? " " : "", found);
    memcpy(found, longer, sizeof found);
  }
  snprintf(out, size, "%s", found);
}

/* Reads a stream of estimates to its end, releases it, and writes the cheapest order to `out`; returns 0, or errno. */
int order_of_estimates(struct ArrowArrayStream *stream, char *out, size_t size) {
  struct ArrowSchema schema;
  struct ArrowArray batch;
  known = 0;
  for (unsigned part = 0; part < 1u << kMostNodes; ++part) rows[part] = -1.0;
  int status = stream->get_schema(stream, &schema);
  if (status == 0) {
    const int64_t nodes = column(&schema, "nodes", "+l"), value = column(&schema, "value", "g");
    schema.release(&schema);
    status = nodes < 0 || value < 0;
    while (status == 0 && (status = stream->get_next(stream, &batch)) == 0 && batch.release) {
      status = read_batch(&batch, nodes, value);
      batch.release(&batch);
    }
  }
  stream->release(stream);
  if (status == 0) cheapest_order(out, size);
  return status;
}
