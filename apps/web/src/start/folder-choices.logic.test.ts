import { describe, expect, it } from 'vitest'
import { folderChoices } from './folder-choices.logic.ts'

describe('folder choices', () => {
  const recents = ['/home/me/parley', '/home/me/other']

  it('are recent folders and found folders, each once', () => {
    expect(folderChoices('/home/me/p', recents, ['/home/me/parley', '/home/me/pictures'])).toEqual([
      { value: '/home/me/parley', note: 'recent' },
      { value: '/home/me/pictures' },
    ])
  })

  it('match any part of a recent path, except the folder that was typed', () => {
    expect(folderChoices('OTHER', recents, []).map(({ value }) => value)).toEqual(['/home/me/other'])
    expect(folderChoices('~/par', recents, []).map(({ value }) => value)).toEqual(['/home/me/parley'])
    expect(folderChoices('/home/me/other', recents, [])).toEqual([])
    expect(folderChoices('', recents, [])).toHaveLength(2)
  })

  it('do not include the typed folder itself', () => {
    expect(folderChoices('~/shop', [], ['~/shop'])).toEqual([])
    expect(folderChoices('~/shop', [], ['~/shop', '~/shop-old'])).toEqual([{ value: '~/shop-old' }])
  })
})
