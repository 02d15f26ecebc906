// from cosmosdb_data_model.md, sha256 d106d2090aefc96c539018a15343de8e61759e18ec7743c50e2d24aab6839bbe

import { type Infer, autoscale, container, defineModel, document, indexed, int, moment, number, text } from 'millrace';

export const m = defineModel(
  {
    Readings: container(
      '/tenantId, /siteId, /deviceId',
      {
        reading: document({
          id: moment,
          tenantId: text,
          siteId: text,
          deviceId: text,
          at: moment,
          celsius: number,
          battery: int,
        }),
      },
      { index: indexed('/type', '/at', '/tenantId', '/siteId', '/deviceId'), throughput: autoscale(1_000) },
    ),
    DeviceHours: container(
      '/tenantId, /siteId, /deviceId',
      {
        deviceHour: document({
          id: text,
          tenantId: text,
          siteId: text,
          deviceId: text,
          hour: text,
          readings: int,
          coldest: number,
          warmest: number,
          average: number,
          alarms: int,
        }),
      },
      {
        ttl: 'per document',
        index: indexed('/type', '/hour', '/tenantId', '/siteId', '/deviceId'),
        throughput: autoscale(2_000),
      },
    ),
  },
  { examples: './model.examples.json' },
);

export type Reading = Infer<typeof m.Readings.reading>;
export type DeviceHour = Infer<typeof m.DeviceHours.deviceHour>;
