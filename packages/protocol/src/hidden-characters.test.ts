import { describe, expect, it } from 'vitest'
import { visible, withoutHidden } from './hidden-characters.ts'

describe('a hidden character', () => {
  it.each([
    ['escape', '\u001b', '␛'],
    ['carriage return', '\r', '␍'],
    ['delete', '\u007f', '␡'],
    ['a C1 control', '\u009b', '\\u{9b}'],
    ['a soft hyphen', '\u00ad', '\\u{ad}'],
    ['a grapheme joiner', '\u034f', '\\u{34f}'],
    ['an Arabic letter mark', '\u061c', '\\u{61c}'],
    ['a Hangul filler', '\u115f', '\\u{115f}'],
    ['a second Hangul filler', '\u3164', '\\u{3164}'],
    ['a halfwidth Hangul filler', '\uffa0', '\\u{ffa0}'],
    ['a Mongolian separator', '\u180e', '\\u{180e}'],
    ['a zero-width space', '\u200b', '\\u{200b}'],
    ['a joiner', '\u200d', '\\u{200d}'],
    ['a line separator', '\u2028', '\\u{2028}'],
    ['a direction override', '\u202e', '\\u{202e}'],
    ['an isolate', '\u2066', '\\u{2066}'],
    ['a word joiner', '\u2060', '\\u{2060}'],
    ['a braille blank', '\u2800', '\\u{2800}'],
    ['a byte order mark', '\ufeff', '\\u{feff}'],
    ['a variation selector', '\ufe0f', '\\u{fe0f}'],
    ['a tag', '\u{e0072}', '\\u{e0072}'],
    ['a supplementary variation selector', '\u{e0100}', '\\u{e0100}'],
  ])('is made visible or removed: %s', (_, character, shown) => {
    expect(visible(`rm${character}x`)).toBe(`rm${shown}x`)
    expect(withoutHidden(`rm${character}x`)).toBe('rmx')
  })

  it('does not occur in ordinary text, emoji included', () => {
    const text = 'Grüße, 世界 👋🏽\n\tand a tab: 👩‍💻 👩🏽‍💻 ❤️ ❤️‍🔥 1️⃣ ☎︎ é, नमस्ते, 한국어'
    expect(visible(text)).toBe(text)
    expect(withoutHidden(text)).toBe(text)
  })
})
