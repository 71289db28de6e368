import { describe, expect, it } from 'vitest'
import { tokenOfProtocols, webSocketProtocols } from './device.ts'

describe('the subprotocols of a WebSocket', () => {
  it.each(['simple', 'base64+/=', 'a(b)c', '100%', '"quoted",;'])('contain the token %s', (token) => {
    const offered = webSocketProtocols(token)
    expect(offered[0]).toBe('parley.v1')
    for (const one of offered) expect(one).toMatch(/^[!#$%&'*+.^_`|~\w-]+$/)
    expect(tokenOfProtocols(offered.join(', '))).toBe(token)
  })

  it('contain a plain token unchanged', () => {
    expect(webSocketProtocols('aZ-_9')).toEqual(['parley.v1', 'bearer.aZ-_9'])
  })

  it.each([undefined, '', 'parley.v1', 'parley.v1, bearer.%E0%A4%A'])('contain no token: %s', (header) => {
    expect(tokenOfProtocols(header)).toBeUndefined()
  })
})
