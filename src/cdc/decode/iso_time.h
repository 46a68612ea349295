// ISO 8601 dates and times as Debezium writes them: years with sign and any number of digits, 0 to 9 fraction digits (cut to six),
// Z or an offset.
#ifndef FZ_CDC_ISO_TIME_H
#define FZ_CDC_ISO_TIME_H

#include "base/mem.h"

enum fz_iso { FZ_ISO_OK, FZ_ISO_BEYOND, FZ_ISO_BAD };
enum {
    FZ_ISO_ZONE_REQUIRED = 1,
    FZ_ISO_ZONE_IGNORED = 2
}; // IGNORED: a Z may stand there and means nothing, an offset is refused
enum fz_iso fz_iso_date(struct fz_str text, int64_t *days); // a Z at the end means nothing
enum fz_iso fz_iso_time(struct fz_str text, int zone,
                        int64_t *micros); // of the day; with a zone brought to UTC, around midnight
enum fz_iso fz_iso_timestamp(struct fz_str text, int zone, int64_t *micros); // since 1970

#endif
