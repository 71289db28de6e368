import { createStore } from './store.ts'

/** The open page-wide dialog, which works on every route. */
export const pageDialog = createStore<'palette' | 'keys' | undefined>(undefined)
