import { createStore } from './store.ts'

/** Which dialog of the whole page is open, over whatever place one is at. */
export const pageDialog = createStore<'palette' | 'keys' | undefined>(undefined)
