// The smallest operator in C: a column of ones beside each row; for
// custom_operator.py.
#include <ballast/operator.h>

#include <stdlib.h>

static void release_schema(struct ArrowSchema* schema) {
  for (int64_t i = 0; i < schema->n_children; ++i) {
    struct ArrowSchema* child = schema->children[i];
    if (child->release)
      child->release(child);
    free(child);
  }
  free(schema->children);
  schema->release = NULL;
}

static void release_array(struct ArrowArray* array) {
  for (int64_t i = 0; i < array->n_children; ++i) {
    struct ArrowArray* child = array->children[i];
    if (child->release)
      child->release(child);
    free(child);
  }
  free(array->children);
  if (array->n_buffers > 1)
    free((void*)array->buffers[1]);
  free(array->buffers);
  array->release = NULL;
}

static int32_t open_ones(const char* options, const struct ArrowSchema* input,
                         struct ArrowSchema* output, void** stream,
                         struct ballast_operator_error* error) {
  struct ArrowSchema* item = calloc(1, sizeof *item);
  (void)options, (void)input, (void)stream, (void)error;
  item->format = "l";
  item->name = "item";
  item->release = release_schema;
  output->format = "+s";
  output->name = "";
  output->n_children = 1;
  output->children = calloc(1, sizeof *output->children);
  output->children[0] = item;
  output->release = release_schema;
  return 0;
}

static int32_t apply_ones(void* stream, const struct ArrowArray* rows,
                          struct ArrowArray* output, struct ArrowArray* from,
                          struct ballast_operator_error* error) {
  struct ArrowArray* item = calloc(1, sizeof *item);
  int64_t* ones = calloc((size_t)rows->length + 1, sizeof *ones);
  (void)stream, (void)from, (void)error;
  for (int64_t i = 0; i < rows->length; ++i)
    ones[i] = 1;
  item->length = output->length = rows->length;
  item->n_buffers = 2;
  item->buffers = calloc(2, sizeof *item->buffers);
  item->buffers[1] = ones;
  item->release = release_array;
  output->n_buffers = 1;
  output->buffers = calloc(1, sizeof *output->buffers);
  output->n_children = 1;
  output->children = calloc(1, sizeof *output->children);
  output->children[0] = item;
  output->release = release_array;
  return 0;
}

static const struct ballast_operator operators[] = {
    {"ones", 0, open_ones, apply_ones, NULL}};

BALLAST_OPERATORS(operators)
