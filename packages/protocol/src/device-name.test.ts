import { describe, expect, it } from 'vitest'
import { deviceName } from './device-name.ts'

describe('a device name', () => {
  it.each([
    [
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130 Safari/537.36',
      'Chrome on Linux',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) AppleWebKit/605 Version/18 Safari/605',
      'Safari on macOS',
    ],
    ['Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537 Chrome/130 Safari/537 Edg/130', 'Edge on Windows'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 18 like Mac OS X) Version/18 Safari/604', 'Safari on iOS'],
    ['curl/8', 'A browser'],
    [undefined, 'A browser'],
  ])('is derived from %s', (agent, name) => {
    expect(deviceName(agent)).toBe(name)
  })
})
