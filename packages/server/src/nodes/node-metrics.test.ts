import { expect, it } from 'vitest'
import { readPrometheus, sampleValue } from '../telemetry/prometheus-under-test.ts'
import { createNodeMetrics, measuredAppends } from './node-metrics.ts'

it('reports the lease, the nodes, takeovers, forwarded commands and appends', async () => {
  const metrics = createNodeMetrics()
  const store = measuredAppends({ append: async (batch: string) => `${batch} stored` }, metrics)
  expect(await store.append('a')).toBe('a stored')
  metrics.tookOver(20)
  metrics.tookOver(1)
  metrics.forwarded('accepted')
  metrics.forwarded('accepted')
  metrics.forwarded('busy')
  const nodes = [
    { isSelf: true, sessions: 7, state: 'alive' },
    { isSelf: false, sessions: 3, state: 'alive' },
    { isSelf: false, sessions: 1, state: 'gone' },
  ]
  const families = readPrometheus(metrics.text({ leaseAgeMs: 250, nodes }))
  const value = (name: string, labels?: Record<string, string>) => sampleValue(families, name, labels)
  expect(value('parley_node_lease_age_seconds')).toBe(0.25)
  expect(value('parley_nodes', { state: 'alive' })).toBe(2)
  expect(value('parley_nodes', { state: 'expired' })).toBe(0)
  expect(value('parley_sessions_owned')).toBe(7)
  expect(value('parley_session_takeovers_total')).toBe(21)
  expect(value('parley_commands_forwarded_total', { outcome: 'accepted' })).toBe(2)
  expect(value('parley_commands_forwarded_total', { outcome: 'busy' })).toBe(1)
  expect(value('parley_append_seconds_count')).toBe(1)
  expect(value('parley_append_seconds_bucket', { le: '+Inf' })).toBe(1)
})

it('measures an append that fails, and rejects with its error', async () => {
  const metrics = createNodeMetrics()
  const store = measuredAppends({ append: () => Promise.reject(new Error('refused')) }, metrics)
  await expect(store.append()).rejects.toThrow('refused')
  expect(sampleValue(readPrometheus(metrics.text({ leaseAgeMs: 0 })), 'parley_append_seconds_count')).toBe(1)
})

it('leaves out the values of the database while the database is unreachable', () => {
  const families = readPrometheus(createNodeMetrics().text({ leaseAgeMs: undefined }))
  const samples = (name: string) => families.get(name)?.samples.length
  expect(samples('parley_node_lease_age_seconds')).toBe(0)
  expect(samples('parley_nodes')).toBe(0)
  expect(samples('parley_sessions_owned')).toBe(0)
  expect(sampleValue(families, 'parley_session_takeovers_total')).toBe(0)
})
