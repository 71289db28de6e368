import { describe, expect, it } from 'vitest'
import { panelWidthWithin } from './panel-width.logic.ts'

describe('the width of a panel', () => {
  it('is the wanted width within the limits of the screen', () => {
    expect(panelWidthWithin(500.4, 1440)).toBe(500)
    expect(panelWidthWithin(2_000, 1440)).toBe(760)
    expect(panelWidthWithin(10, 1440)).toBe(280)
    expect(panelWidthWithin(500, 700)).toBe(280)
  })
})
