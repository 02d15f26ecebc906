// Devices → event hub → readings → hours → event hub, and days that are over → blobs. Section "Change Feed Projections"
// of the data model says the same in words.
import { aggregate, archive, definePipeline, ingest, publish } from 'millrace';
import { readMessage } from './message.ts';
import { m } from './model.ts';

export default definePipeline({
  name: 'telemetry',
  model: m,
  tenant: 'tenantId',
  ingest: [
    ingest('readings-in', {
      from: 'device-readings',
      into: m.Readings.reading,
      // What a device sends twice has one time, and so one id under the device's key.
      map: ({ body }) => {
        const { tenant, site, device, at, celsius, battery } = readMessage(body);
        return { id: at, tenantId: tenant, siteId: site, deviceId: device, at, celsius, battery };
      },
    }),
  ],
  projections: [
    aggregate('device-hours', {
      from: m.Readings.reading,
      into: m.DeviceHours.deviceHour,
      maxLag: '30 s',
      // A reading is never changed.
      stable: true,
      groupBy: ({ tenantId, siteId, deviceId, at }) => ({ tenantId, siteId, deviceId, hour: at.slice(0, 13) }),
      measures: {
        readings: (q) => q.count(),
        coldest: (q) => q.min((reading) => reading.celsius),
        warmest: (q) => q.max((reading) => reading.celsius),
        average: (q) => q.avg((reading) => reading.celsius),
        alarms: (q) => q.sum((reading) => (reading.celsius > 8 ? 1 : 0)),
      },
    }),
    // 1 November is over: its readings leave, and the hours stay.
    archive('readings-cold', { from: m.Readings.reading, date: 'at', before: '2026-11-02' }),
    publish('hours-out', {
      from: m.DeviceHours.deviceHour,
      to: 'device-hours',
      type: 'example.telemetry.hour',
      schemaVersion: '1',
    }),
  ],
});
